#pragma once
/// Trained models without the places for new words that a text leaves empty.

#include <cstdint>
#include <memory>

#include "engine/weights/parameters.hpp"

namespace attn::app {

/// The model with its first `ids` ids (see with_first_ids()), or itself if it has no more. While one is in use, asking again gives the same
/// object, so that states with as many new words share their parameters.
std::shared_ptr<const Parameters<float>> with_places_in_use(const std::shared_ptr<const Parameters<float>>& trained, std::int64_t ids);

}  // namespace attn::app

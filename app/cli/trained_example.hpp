#pragma once
/// --preset of the commands that need a trained model.

#include <memory>
#include <string>

#include "app/session/states/shipped_model.hpp"

namespace attn::app {

/// The model of an example. Throws Error if there is no such example, or if its weights are random.
std::shared_ptr<const ShippedModel> trained_example(const std::string& name);

}  // namespace attn::app

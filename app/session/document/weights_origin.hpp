#pragma once
/// Whether a model has learned anything.

#include <string>

#include "app/session/document/document.hpp"

namespace attn::app {

/// Where the numbers of a model come from.
struct WeightsOrigin {
    bool learned = false;    ///< false: drawn at random, so that only the arithmetic means something
    std::string text;        ///< "trained", "random weights"
    std::string parameters;  ///< "0.4 M parameters"; "" where they are drawn
};
WeightsOrigin weights_origin(const Document& document);

}  // namespace attn::app

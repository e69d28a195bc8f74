#pragma once
/// Tells whether a model has been trained.

#include <string>

#include "app/session/document/document.hpp"

namespace attn::app {

/// Where a model's parameters come from.
struct WeightsOrigin {
    bool learned = false;    ///< false: random, so that only the arithmetic is meaningful
    std::string text;        ///< "trained" or "random weights"
    std::string parameters;  ///< such as "0.4 M parameters"; "" for random ones
    bool missing = false;    ///< of a training run that could not be opened: there are none
};
WeightsOrigin weights_origin(const Document& document);

}  // namespace attn::app

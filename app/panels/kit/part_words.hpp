#pragma once
/// What a model consists of, in words.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn::app {

/// In the order of Activation.
inline constexpr std::array<std::string_view, 6> kActivationNames = {"ReLU", "GELU", "GELU tanh", "SiLU", "QuickGELU", "GELU up to 10"};

/// What distinguishes architectures at a glance: "rotary, pre-norm".
std::string parts_words(const Config& config);

/// A phrase for each choice that the settings offer besides sizes, in a fixed order and number, so that two models can be told apart by
/// the phrases in which they differ: "2 K/V heads", "rotary", "pre-norm", "RMSNorm", ...
std::vector<std::string> part_phrases(const Config& config);

/// Why a model without an output head predicts nothing, and what to do. `opened`: it is a published model, whose parts are fixed.
const char* without_output_head(bool opened);

}  // namespace attn::app

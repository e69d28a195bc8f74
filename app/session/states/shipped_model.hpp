#pragma once
/// Trained models that the program carries inside itself, ready offline.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/checkpoint.hpp"

namespace attn::app {

struct Setup;

/// Parameters, vocabulary, and the settings of the run that made them (assets/models/NAME.json, see `./dev models`).
struct ShippedModel {
    std::string name;
    Checkpoint checkpoint;
};

/// "stories", ...
std::vector<std::string> shipped_models();
/// Null when there is none of that name. Read once, when it is first asked for; all states about it share it.
std::shared_ptr<const ShippedModel> shipped_model(std::string_view name);

/// Makes the setup one about that model: its configuration and vocabulary, and the masks that it was trained with.
void use_shipped(Setup& setup, std::shared_ptr<const ShippedModel> model);

}  // namespace attn::app

#pragma once
/// Trained models embedded in the program, available offline.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/checkpoint.hpp"

namespace attn::app {

struct Setup;

/// Parameters, vocabulary and the settings of the training run (assets/models/NAME.json, see `./dev models`).
struct ShippedModel {
    std::string name;
    Checkpoint checkpoint;
};

/// Their names, such as "stories".
std::vector<std::string> shipped_models();
/// Null if there is no model of that name. Read on first use, then shared by all states that use it.
std::shared_ptr<const ShippedModel> shipped_model(std::string_view name);

/// Makes `setup` use that model: its configuration, its vocabulary and the masks it was trained with.
void use_shipped(Setup& setup, std::shared_ptr<const ShippedModel> model);

}  // namespace attn::app

#pragma once
/// Worked examples to start from, embedded in the program.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

inline constexpr std::string_view kDefaultPreset = "causal-attention";

struct Preset {
    std::string name;        ///< "causal-attention"
    std::string title;       ///< "Causal attention"
    std::int32_t order = 0;  ///< place in the menu
    Document document;       ///< with `preset` and `look_at` set
    /// The stages that the sentence speaks of, the first of which the example opens at; empty: it is true of all.
    std::vector<Stage> look_stages;
};

/// All presets in the order of the menu, parsed once.
std::span<const Preset> presets();
/// Throws Error naming the presets that there are.
Document open_preset(std::string_view name);

/// What is worth looking at in a document: of a mistake made on purpose where it shows, else the preset's sentence while text, model, masks
/// and numbers are the preset's own, for of others it might not be true, and `at` is a stage that it speaks of (none: any). Else "".
std::string_view look_at(const Document& document, std::optional<Stage> at = {});
/// Where an example opens: the first stage that its sentence speaks of, the cross-attention of an encoder-decoder, the scores of others.
StageId opening_stage(std::string_view preset);

/// Reads a preset's JSON. Throws FileError naming `source` and the place for anything unknown, missing or of a wrong type.
Preset parse_preset(std::string_view json, std::string_view source);

}  // namespace attn::app

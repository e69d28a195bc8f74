#pragma once
/// Worked examples to start from, embedded in the program.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/look.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

/// What the window shows at its first start.
inline constexpr std::string_view kFirstPreset = "stories";
/// For a text of one's own: its model takes any words.
inline constexpr std::string_view kDefaultPreset = "causal-attention";

/// Something to be seen in an example.
struct PresetSentence {
    std::string title;  ///< "who is she?"; "" where the preset has only this one
    std::vector<std::string> texts, source_texts;
    std::string look_at;       ///< one line saying what to see
    std::optional<Look> look;  ///< where it is seen, if the preset says so
};

struct Preset {
    std::string name;                       ///< "causal-attention"
    std::string title;                      ///< "Causal attention"
    std::int32_t order = 0;                 ///< place in the menu
    Document document;                      ///< of the first sentence, with `preset` and `look_at` set
    std::vector<PresetSentence> sentences;  ///< at least one
    /// The stages that the sentences speak of, the first of which the example opens at; empty: they are true of all.
    std::vector<Stage> look_stages;
};

/// All presets in the order of the menu, parsed once.
std::span<const Preset> presets();
/// Throws Error naming the presets that there are.
const Preset& find_preset(std::string_view name);
/// The document of one of its sentences, counted from 0. Throws Error for a sentence or preset that there is not.
Document open_preset(std::string_view name, std::size_t sentence = 0);
/// The sentence of the document's preset that it still shows; null where the person has typed another.
const PresetSentence* shown_sentence(const Document& document);
/// Where that is worth looking at, if the preset says so and its model is shown.
std::optional<Look> look_of(const Document& document);

/// What is worth looking at in a document: of a mistake made on purpose where it shows, else that of the preset's sentence while text,
/// model, masks and numbers are the preset's own, for of others it might not be true, and `at` is a stage that it speaks of (none: any).
/// Else "".
std::string_view look_at(const Document& document, std::optional<Stage> at = {});
/// Where one of an example's sentences opens: where it is to be seen, else at the first stage that the example speaks of, the
/// cross-attention of an encoder-decoder, the scores of others.
Look opening_look(const Preset& preset, std::size_t sentence);

/// Reads a preset's JSON. Throws FileError naming `source` and the place for anything unknown, missing or of a wrong type.
Preset parse_preset(std::string_view json, std::string_view source);

}  // namespace attn::app

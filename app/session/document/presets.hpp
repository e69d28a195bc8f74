#pragma once
/// Worked examples embedded in the program.

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

/// Shown when the program is started for the first time.
inline constexpr std::string_view kFirstPreset = "stories";
/// The preset for a text typed by the user: its model accepts any words.
inline constexpr std::string_view kDefaultPreset = "causal-attention";

/// An example sentence with something worth seeing.
struct PresetSentence {
    std::string title;  ///< such as "who is she?"; "" if it is the preset's only sentence
    std::vector<std::string> texts, source_texts;
    std::string look_at;       ///< one line saying what to look at
    std::optional<Look> look;  ///< where to see it, if the preset specifies it
};

struct Preset {
    std::string name;                       ///< identifier, such as "causal-attention"
    std::string title;                      ///< such as "Causal attention"
    std::int32_t order = 0;                 ///< position in the menu
    Document document;                      ///< for the first sentence, with `preset` and `look_at` set
    std::vector<PresetSentence> sentences;  ///< at least one
    /// The stages that the sentences describe, in every layer and stack; the example opens at the first. Empty: the sentences apply to all
    /// stages.
    std::vector<StageId> look_stages;
};

/// "stories", "induction", ... in menu order. Reads no models, unlike presets().
const std::vector<std::string>& preset_names();
/// All presets in menu order; each is parsed once, which takes a while for the trained models of some. For one of them, find_preset().
std::span<const Preset> presets();
/// The preset that a document was made from; null if it is from none.
const Preset* preset_of(const Document& document);
/// Throws Error listing the available presets.
const Preset& find_preset(std::string_view name);
/// The document for one of the preset's sentences, counted from 0. Throws Error if there is no such preset or sentence.
Document open_preset(std::string_view name, std::size_t sentence = 0);
/// The sentence of the document's preset that the document shows; null if the text has been changed.
const PresetSentence* shown_sentence(const Document& document);
/// Where to look at that sentence, if the preset specifies it and its model is shown.
std::optional<Look> look_of(const Document& document);
/// Where a document opens: as it was saved, or else look_of() it.
std::optional<Look> opening_look(const Document& document);

/// The hint on what to look at: that of a deliberate mistake if there is one, else that of the preset's sentence. The latter only applies
/// while text, model, masks and numbers are the preset's own and `at` (none: any) is a stage that it describes; otherwise "".
std::string_view look_at(const Document& document, const std::optional<StageId>& at = {});
/// Where the example opens with another text than its own: as with its first, and the cell follows from the text. None if it is from no
/// example.
Look look_of_own_text(const Preset& preset);
std::optional<Look> look_of_own_text(const Document& document);
/// Where a preset's sentence opens: at its own look, else at the first stage the preset describes, else at the cross-attention of an
/// encoder-decoder or the scores of other models.
Look opening_look(const Preset& preset, std::size_t sentence);

/// Parses a preset's JSON. Throws FileError naming `source` and the place for anything unknown, missing or of the wrong type.
Preset parse_preset(std::string_view json, std::string_view source);

}  // namespace attn::app

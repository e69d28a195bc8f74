#pragma once
/// Describes edits in words: "weights, layer 0, head 1: row ‘cat’ set to uniform".

#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "engine/trace/edit.hpp"

namespace attn::app {

struct EditWords {
    std::string place;  ///< such as "weights, layer 0, head 1"
    std::string what;   ///< such as "row ‘cat’ set to uniform"
};

EditWords words_of(const PanelContext& context, const Edit& edit);

/// What an edit changes within its stage, such as "row 6 ‘cat’, column 3".
std::string target_of(const PanelContext& context, const Edit& edit);

/// Such as "layer 0, head 1" for a stage of a layer; negative `head`: all or none.
std::string place_words(const StageId& id, std::int64_t head, Axis heads = Axis::H);

/// The name of a row pattern: "uniform", "the previous token".
std::string_view pattern_name(Pattern pattern);

}  // namespace attn::app

#pragma once
/// Edits in plain words: "weights, layer 0, head 1: row ‘cat’ set to uniform".

#include <string>

#include "app/panels/panel_context.hpp"
#include "engine/trace/edit.hpp"

namespace attn::app {

struct EditWords {
    std::string place;  ///< "weights, layer 0, head 1"
    std::string what;   ///< "row ‘cat’ set to uniform"
};

EditWords words_of(const PanelContext& context, const Edit& edit);

/// "row 6 ‘cat’, column 3": what of its stage an edit takes hold of.
std::string target_of(const PanelContext& context, const Edit& edit);

/// "layer 0, head 1" of a stage that is one of a layer; `head` negative for all or none.
std::string place_words(const StageId& id, std::int64_t head, Axis heads = Axis::H);

/// "uniform", "the previous token": what a frozen row looks like.
std::string_view pattern_name(Pattern pattern);

}  // namespace attn::app

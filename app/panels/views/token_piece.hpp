#pragma once
/// The right pane of the tokens stage: what is known about a piece.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// A piece as on its chip; two that are joined as "i + ly".
std::string piece_text(std::string_view piece, std::string_view joined_with = {});

/// A piece of the shown text, or of the other tokenizer's.
struct ChosenPiece {
    std::size_t place = 0;
    bool of_other = false;
};
/// The piece under the mouse, otherwise the selected one; none if there is none.
std::optional<ChosenPiece> chosen_piece(const PanelContext& context);

/// How many of the shown tokens were written after the text instead of being split from it.
std::int64_t written_after_text(const PanelContext& context);

/// Draws the facts of the chosen piece, and a button to copy the ids.
void draw_token_piece(PanelContext& context);

}  // namespace attn::app

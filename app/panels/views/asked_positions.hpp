#pragma once
/// Which next tokens of a text its task asks for: the others nobody can guess, and a loss that counts them is none of the model's doing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// One entry a position of `tokens`: 1 where the task determines the token after it. Copy, reverse and sort: from the separator on; repeat:
/// once symbols come again; addition: at the sum; everywhere for all else.
std::vector<std::uint8_t> asked_positions(TaskKind task, std::span<const Token> tokens);
/// [B,T] of what is shown, of the run that the shown model is of; of a model that fills in words where none is hidden. Empty where every
/// position counts.
std::vector<std::uint8_t> asked_positions(const PanelContext& context);

}  // namespace attn::app

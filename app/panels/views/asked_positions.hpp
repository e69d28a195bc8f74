#pragma once
/// Which next tokens of a text its task determines. All others are unpredictable, and a loss that includes them says little about the
/// model.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// One entry per position of `tokens`: 1 if the task determines the next token. Copy, reverse and sort: from the separator on; repeat: once
/// symbols recur; addition: in the sum; other tasks: everywhere.
std::vector<std::uint8_t> asked_positions(TaskKind task, std::span<const Token> tokens);
/// [B,T] for the shown texts: the positions that the task of the shown model's run asks for, or those where no word is hidden from a model
/// that fills in words; empty if every position counts.
std::vector<std::uint8_t> asked_positions(const PanelContext& context);

}  // namespace attn::app

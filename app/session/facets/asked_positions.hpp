#pragma once
/// Which next tokens of a text its task determines. All others are unpredictable, and a loss that includes them says little about the
/// model.

#include <cstdint>
#include <span>
#include <vector>

#include "app/session/states/state.hpp"
#include "app/session/states/token.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/tasks/task_settings.hpp"

namespace attn::app {

/// One entry per position of `tokens`: 1 if the task determines the next token. Copy, reverse and sort: from the separator on; repeat: once
/// symbols recur; addition: in the sum; other tasks: everywhere.
std::vector<std::uint8_t> asked_positions(TaskKind task, std::span<const Token> tokens);
/// [B,T] for the texts of a state, of `length` positions each: those that the task of its run asks for, or those where no word is hidden
/// from an encoder. Empty if every position counts.
std::vector<std::uint8_t> asked_positions(const State& state, std::span<const std::vector<Token>> texts, std::size_t length);

/// For a model that fills in words, [B,T]: 0 where one is hidden, so that no word there is known to be right. Empty for others.
std::vector<std::uint8_t> shown_here(const Snapshot& snapshot);

}  // namespace attn::app

#pragma once
/// Which rows of a table the recorded code had looked up: the ids of its tokens, which are not recorded themselves.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/recording/numbers.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn::recording {

struct EmbeddedRows {
    TokenBatch tokens;
    std::int64_t width = 0;
    std::vector<double> table;  ///< [V, width]
};

/// `rows` are [B,T,C] or [T,C], the table is [V,C]. Of equal rows of the table the first is meant. Nothing if a row is not in it.
std::optional<EmbeddedRows> rows_in_table(const Numbers& rows, std::vector<double> table);
/// Rows that no table is known of: the table has each different one, in the order in which they come.
EmbeddedRows rows_by_content(const Numbers& rows);
/// The same of two texts that share a table, whose rows are as wide: first the different rows of one, then the others. `tokens` are those
/// of the second; those of the first are put into `first_tokens`.
EmbeddedRows rows_of_both(const Numbers& first, const Numbers& second, TokenBatch& first_tokens);

}  // namespace attn::recording

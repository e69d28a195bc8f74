#include "engine/recording/embedded_rows.hpp"

#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace attn::recording {
namespace {

/// A row by its bits.
std::string_view key_of(const double* row, std::int64_t width) {
    return {reinterpret_cast<const char*>(row), static_cast<std::size_t>(width) * sizeof(double)};
}

TokenBatch empty_batch(const Numbers& rows) {
    const std::int64_t positions = rows.shape[rows.shape.size() - 2], texts = rows.count() / (positions * rows.shape.back());
    return {positions, {}, std::vector<std::int64_t>(static_cast<std::size_t>(texts), positions)};
}

}  // namespace

std::optional<EmbeddedRows> rows_in_table(const Numbers& rows, std::vector<double> table) {
    const std::int64_t width = rows.shape.back(), size = static_cast<std::int64_t>(table.size()) / width;
    EmbeddedRows found{empty_batch(rows), width, std::move(table)};
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::int64_t id = 0; id < size; ++id) ids.emplace(key_of(found.table.data() + id * width, width), static_cast<std::int32_t>(id));
    for (std::int64_t at = 0; at < rows.count(); at += width) {
        const auto id = ids.find(key_of(rows.values.data() + at, width));
        if (id == ids.end()) return {};
        found.tokens.ids.push_back(id->second);
    }
    return found;
}

EmbeddedRows rows_by_content(const Numbers& rows) {
    const std::int64_t width = rows.shape.back();
    EmbeddedRows found{empty_batch(rows), width, {}};
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::int64_t at = 0; at < rows.count(); at += width) {
        const double* row = rows.values.data() + at;
        const auto [id, is_new] = ids.emplace(key_of(row, width), static_cast<std::int32_t>(ids.size()));
        if (is_new) found.table.insert(found.table.end(), row, row + width);
        found.tokens.ids.push_back(id->second);
    }
    return found;
}

EmbeddedRows rows_of_both(const Numbers& first, const Numbers& second, TokenBatch& first_tokens) {
    const std::int64_t width = first.shape.back();
    Numbers all{"TC", {(first.count() + second.count()) / width, width}, first.values, {}, 0};
    all.values.insert(all.values.end(), second.values.begin(), second.values.end());
    EmbeddedRows found = rows_by_content(all);
    first_tokens = empty_batch(first);
    TokenBatch second_tokens = empty_batch(second);
    const auto middle = found.tokens.ids.begin() + first.count() / width;
    first_tokens.ids.assign(found.tokens.ids.begin(), middle);
    second_tokens.ids.assign(middle, found.tokens.ids.end());
    found.tokens = std::move(second_tokens);
    return found;
}

}  // namespace attn::recording

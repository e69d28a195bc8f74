#include "engine/recording/seen_cells.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace attn::recording {
namespace {

/// A map as rows of keys: [B,H,T,S] has B·H·T rows.
struct Rows {
    explicit Rows(const Numbers& map) : numbers(map), keys(map.size('S')), queries(map.size('T')) {}

    bool is_map() const { return numbers.axes.size() >= 2 && numbers.axes.substr(numbers.axes.size() - 2) == "TS" && keys > 0; }
    std::int64_t count() const { return numbers.count() / keys; }
    std::int64_t query(std::int64_t row) const { return row % queries; }
    double at(std::int64_t row, std::int64_t key) const { return numbers.values[static_cast<std::size_t>(row * keys + key)]; }

    const Numbers& numbers;
    std::int64_t keys, queries;
};

bool sees_exactly(const Rows& rows, const std::function<bool(std::int64_t query, std::int64_t key)>& open) {
    for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t key = 0; key < rows.keys; ++key)
            if ((rows.at(row, key) > kHidden) != open(rows.query(row), key)) return false;
    return true;
}

}  // namespace

Seen pattern_of(const Numbers& masked) {
    const Rows rows(masked);
    if (!rows.is_map()) return Seen::Other;
    if (rows.keys > rows.queries)
        return sees_exactly(rows, [](auto query, auto key) { return key <= query; }) ? Seen::FromTheFirstKey : Seen::Other;
    if (rows.keys != rows.queries || rows.queries < 3) return Seen::Other;
    if (sees_exactly(rows, [](auto query, auto key) { return key <= query; })) return Seen::NothingAhead;
    if (sees_exactly(rows, [](auto query, auto key) { return key <= query + 1; })) return Seen::OneAhead;
    if (sees_exactly(rows, [](auto query, auto key) { return key < query; })) return Seen::NotItself;
    if (sees_exactly(rows, [](auto query, auto key) { return key >= query; })) return Seen::OnlyAhead;
    if (sees_exactly(rows, [](auto query, auto key) { return key > query; })) return Seen::OnlyAhead;
    return Seen::Other;
}

std::optional<std::pair<double, double>> sums_of_rows(const Numbers& weights) {
    const Rows rows(weights);
    if (!rows.is_map()) return {};
    double least = std::numeric_limits<double>::infinity(), greatest = -least;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
        double sum = 0;
        for (std::int64_t key = 0; key < rows.keys; ++key) sum += rows.at(row, key);
        if (sum == 0) continue;
        least = std::min(least, sum);
        greatest = std::max(greatest, sum);
    }
    if (!std::isfinite(least)) return {};
    return std::pair{least, greatest};
}

bool rows_sum_to_one(const Numbers& weights) {
    const auto sums = sums_of_rows(weights);
    const double allowed = std::max(1e-3, weights.eps * static_cast<double>(weights.size('S')));
    return sums && std::abs(sums->first - 1) <= allowed && std::abs(sums->second - 1) <= allowed;
}

bool lost_part_of_a_row(const Numbers& before, const Numbers& after) {
    const Rows rows(before), later(after);
    if (!rows.is_map() || before.axes != after.axes || before.shape != after.shape) return false;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
        bool lost = false, left = false;
        for (std::int64_t key = 0; key < rows.keys; ++key) {
            lost = lost || (rows.at(row, key) != 0 && later.at(row, key) == 0);
            left = left || later.at(row, key) != 0;
        }
        if (lost && left) return true;
    }
    return false;
}

bool sees_copies_only(const Numbers& masked, const Numbers& vectors) {
    const Rows rows(masked);
    const std::int64_t texts = masked.size('B'), width = vectors.size('C'), keys = rows.keys;
    const bool fits = rows.is_map() && vectors.axes == "BTC" && vectors.size('B') == texts && vectors.size('T') == keys && texts > 0;
    if (!fits || rows.count() % texts != 0 || width == 0) return false;
    const std::int64_t rows_of_text = rows.count() / texts;
    const auto vector = [&](std::int64_t text, std::int64_t key) { return vectors.values.data() + (text * keys + key) * width; };
    const auto is_copy = [&](const double* a, const double* b) { return std::equal(a, a + width, b); };
    bool found = false, are_memory = texts > 1;
    std::int64_t of_first_text = 0;
    for (std::int64_t text = 0; text < texts; ++text) {
        const std::int64_t first_row = text * rows_of_text;
        const auto open = [&](std::int64_t row, std::int64_t key) { return rows.at(row, key) > kHidden; };
        for (std::int64_t row = first_row; row < first_row + rows_of_text; ++row)
            for (std::int64_t key = 0; key < keys; ++key)
                if (open(row, key) != open(first_row, key)) return false;
        std::int64_t first = keys, last = -1, count = 0, hidden = -1;
        bool hidden_differ = false;
        for (std::int64_t key = 0; key < keys; ++key) {
            if (open(first_row, key)) {
                first = std::min(first, key);
                last = key;
                ++count;
                if (!is_copy(vector(text, key), vector(text, first))) return false;
            } else if (hidden < 0) {
                hidden = key;
            } else {
                hidden_differ = hidden_differ || !is_copy(vector(text, key), vector(text, hidden));
            }
        }
        // Padding stands at one end of its text.
        const bool at_an_end = count > 0 && last - first + 1 == count && (first == 0 || last == keys - 1);
        if (count > 0 && !at_an_end) return false;
        found = found || (count > 1 && hidden_differ);
        if (text == 0) of_first_text = count;
        are_memory = are_memory && first == 0 && count == of_first_text;
    }
    return found && !are_memory;
}

bool favours_far_keys(const Numbers& bias) {
    const Rows rows(bias);
    if (!rows.is_map() || rows.keys < 3 || rows.queries < 3 || rows.queries != rows.keys) return false;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
        const double slope = rows.at(row, 0) - rows.at(row, 1);
        for (std::int64_t key = 0; key < rows.query(row); ++key) {
            const double step = rows.at(row, key) - rows.at(row, key + 1);
            const auto cell = static_cast<std::size_t>(row * rows.keys + key), first = static_cast<std::size_t>(row * rows.keys);
            const double rounding = bias.slack[cell] + bias.slack[cell + 1] + bias.slack[first] + bias.slack[first + 1];
            if (!(step > rounding) || std::abs(step - slope) > 1e-4 * slope + 4 * rounding) return false;
        }
    }
    return true;
}

std::optional<MapRow> row_without_keys(const Numbers& masked) {
    const Rows rows(masked);
    if (!rows.is_map() || masked.axes.size() > 4) return {};
    for (std::int64_t row = 0; row < rows.count(); ++row) {
        bool sees = false;
        for (std::int64_t key = 0; key < rows.keys; ++key) sees = sees || !(rows.at(row, key) <= kHidden);
        const std::int64_t map = row / rows.queries, heads = masked.size('H');
        if (!sees) return MapRow{map / heads, map % heads, rows.query(row)};
    }
    return {};
}

bool has_weight_ahead(const Numbers& weights) {
    const Rows rows(weights);
    if (!rows.is_map() || rows.keys != rows.queries) return false;
    for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t key = rows.query(row) + 1; key < rows.keys; ++key)
            if (rows.at(row, key) > 0) return true;
    return false;
}

bool has_weight_behind(const Numbers& weights) {
    const Rows rows(weights);
    if (!rows.is_map() || rows.keys != rows.queries) return false;
    for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t key = 0; key < rows.query(row); ++key)
            if (rows.at(row, key) > 0) return true;
    return false;
}

std::optional<double> triangle_of(const Numbers& added) {
    const Rows rows(added);
    if (!rows.is_map() || rows.keys != rows.queries || rows.keys < 3) return {};
    const double below = rows.at(1, 0), above = rows.at(0, 1), diagonal = rows.at(0, 0);
    if ((below == 0) == (above == 0) || (diagonal != below && diagonal != above)) return {};
    for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t key = 0; key < rows.keys; ++key)
            if (rows.at(row, key) != (key < rows.query(row) ? below : key > rows.query(row) ? above : diagonal)) return {};
    return below == 0 ? above : below;
}

std::optional<double> mark_of_keys(const Numbers& added) {
    if (added.size('S') < 2 || added.size('T') > 1) return {};
    std::optional<double> mark;
    bool has_zero = false;
    for (const double number : added.values) {
        has_zero = has_zero || number == 0;
        if (number == 0) continue;
        if (std::abs(number) != 1 || number != mark.value_or(number)) return {};
        mark = number;
    }
    return has_zero ? mark : std::nullopt;
}

bool differs_between_heads(const Numbers& added) {
    const auto head = static_cast<std::size_t>(added.count() / std::max<std::int64_t>(1, added.size('H')));
    for (std::size_t i = head; i < added.values.size(); ++i)
        if (added.values[i] != added.values[i - head]) return true;
    return false;
}

bool later_keys_are_equal(const Numbers& keys, std::int64_t first) {
    const std::int64_t positions = keys.size('S'), width = keys.size('D');
    if (keys.axes.size() < 2 || keys.axes.substr(keys.axes.size() - 2) != "SD" || positions == 0 || width == 0) return false;
    const auto at = [&](std::int64_t block, std::int64_t key, std::int64_t d) {
        return keys.values[static_cast<std::size_t>((block * positions + key) * width + d)];
    };
    for (std::int64_t block = 0; block < keys.count() / (positions * width); ++block)
        for (std::int64_t key = first + 1; key < positions; ++key)
            for (std::int64_t d = 0; d < width; ++d)
                if (at(block, key, d) != at(block, first, d)) return false;
    return true;
}

}  // namespace attn::recording

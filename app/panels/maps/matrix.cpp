#include "app/panels/maps/matrix.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "app/panels/kit/head_of.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/strong_cells.hpp"
#include "engine/trace/edit_marks.hpp"

namespace attn::app {
namespace {

/// Combines integers to an order-dependent hash (SplitMix64's finalizer).
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b + 0x7F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

std::uint64_t mix_text(std::uint64_t seed, const std::string& text) {
    for (const char c : text) seed = mix(seed, static_cast<unsigned char>(c));
    return seed;
}

enum Variant : std::uint64_t {
    kTransposed = 1,
    kDifference,
    kRowSums,
    kOneHot,
    kParameter,
    kStage,
    kGradient,
    kHeadMean,
    kTotal,
    kWithoutFirst,
    kNormWeighted,
    kReduced,
    kRegion,
    kSlice
};

}  // namespace

void mark_without_first_key(Matrix& weights) { weights.name += " without the first key"; }

void mark_norm_weighted(Matrix& weights) {
    weights.name += " × value norm";
    weights.symbol += " ‖v W_O‖";
    weights.is_norm_weighted = true;
}

void mark_difference(Matrix& now) {
    now.symbol = "Δ " + now.symbol;
    now.name += " difference";
    now.is_difference = true;
    now.is_of_weights = now.content == Content::Probability;
    now.content = Content::Signed;
}

Matrix place_of_row_sums(const Matrix& matrix) {
    Matrix place;
    place.symbol = "Σ";
    place.name = matrix.name + " row sums";
    place.row_axis = matrix.row_axis;
    place.col_axis = Axis::N;
    place.content = Content::Probability;
    place.data.rows = matrix.data.rows;
    place.data.cols = 1;
    return place;
}

Matrix place_of_token_map(std::int64_t positions, std::string symbol) {
    Matrix place;
    place.name = symbol;
    place.symbol = std::move(symbol);
    place.row_axis = Axis::T;
    place.col_axis = Axis::S;
    place.content = Content::Probability;
    place.data.rows = place.data.cols = positions;
    return place;
}

std::optional<CellRef> Matrix::cell(std::int64_t row, std::int64_t col) const {
    if (!origin) return std::nullopt;
    CellRef ref = *origin;
    if (row_index >= 0) ref.index[static_cast<std::size_t>(row_index)] += row;
    if (col_index >= 0) ref.index[static_cast<std::size_t>(col_index)] += col;
    return ref;
}

std::optional<std::pair<std::int64_t, std::int64_t>> Matrix::place_of(const CellRef& wanted) const {
    if (!origin || origin->stage != wanted.stage || origin->parameter != wanted.parameter) return std::nullopt;
    const auto along = [&](int index) {
        return index < 0 ? 0 : wanted.index[static_cast<std::size_t>(index)] - origin->index[static_cast<std::size_t>(index)];
    };
    const std::pair at{along(row_index), along(col_index)};
    if (at.first < 0 || at.first >= data.rows || at.second < 0 || at.second >= data.cols) return std::nullopt;
    return cell(at.first, at.second) == wanted ? std::optional(at) : std::nullopt;
}

void MatrixStore::use(const Snapshot& snapshot, OtherStates others) {
    if (snapshot.serial != serial_) regions_.clear();
    std::erase_if(regions_, [](const auto& entry) { return !entry.second.used; });
    for (auto& [key, region] : regions_) region.used = false;
    std::erase_if(slices_, [](const auto& entry) { return !entry.second.used; });
    for (auto& [numbers, slice] : slices_) slice.used = false;
    for (auto* kept : {&strong_cells_, &latest_cells_}) {
        std::erase_if(*kept, [](const auto& entry) { return !entry.second.used; });
        for (auto& [key, cells] : *kept) cells.used = false;
    }
    std::erase_if(last_regions_, [this](const auto& entry) { return !regions_.contains(entry.second); });
    if (snapshot.serial != serial_) forget_computed();
    serial_ = snapshot.serial;
    keep(std::move(others));
}

void MatrixStore::keep(OtherStates others) {
    if (others == others_) return;
    others_ = std::move(others);
    forget_computed();
}

void MatrixStore::forget_computed() {
    ++generation_;
    changed_.clear();
    one_hot_.clear();
    strong_cells_.clear();
    statistics_.clear();
}

Matrix MatrixStore::stage(const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head) {
    const RecordedStage<float>* stage = trace.find(id, head);
    const ReducedMap* map = stage == nullptr ? trace.reduced_map(id) : nullptr;
    if (map != nullptr) return reduced(trace, *map, head);
    if (stage == nullptr || stage->value.empty()) return {};
    return slice(*stage, batch, head_of(trace.config, stage->value.shape(), head));
}

Matrix MatrixStore::reduced(const Trace<float>& trace, const ReducedMap& map, std::int64_t head) {
    Matrix matrix;
    const auto place = map.place_of(head, trace.config.num_heads);
    if (!place) return matrix;
    matrix.symbol = stage_symbol(map.id.stage);
    matrix.name = tensor_name(map.id);
    matrix.row_axis = Axis::T;
    matrix.col_axis = Axis::S;
    matrix.content = has_probabilities(map.id.stage) ? Content::Probability : Content::Signed;
    matrix.data.rows = map.region.rows;
    matrix.data.cols = map.region.cols;
    matrix.data.level = map.region.level;
    matrix.data.row_stride = map.region.block_cols();
    matrix.data.values = map.numbers(*place);
    if (!map.keep.empty()) matrix.data.keep = map.keep.data();
    matrix.data.key = mix(mix_text(mix(generation_, kReduced), matrix.name), reinterpret_cast<std::uintptr_t>(matrix.data.values));
    matrix.large = LargeMap{map.id, head, map.non_finite[static_cast<std::size_t>(*place)]};
    CellRef origin;
    origin.stage = map.id;
    origin.index[1] = head;
    matrix.origin = origin;
    matrix.row_index = 2;
    matrix.col_index = 3;
    return matrix;
}

Matrix MatrixStore::reduced_mean(const Trace<float>& trace, const StageId& id) {
    const ReducedMap* map = trace.reduced_map(id);
    if (map == nullptr) return {};
    Matrix out = reduced(trace, *map, trace.config.num_heads);
    if (out.empty()) return out;
    out.name += " mean";
    out.symbol = "mean of the heads";
    out.origin.reset();
    return out;
}

Matrix MatrixStore::reduced_total(const Trace<float>& trace, const ReducedMap& map, std::string symbol) {
    Matrix out = reduced(trace, map, 0);
    out.symbol = std::move(symbol);
    out.name = out.symbol;
    out.content = Content::Probability;
    out.origin.reset();
    out.large->in_blocks_alone = true;
    return out;
}

std::uint64_t MatrixStore::key_of(const LargeMap& map) const {
    // Based on names rather than addresses, because regions are reallocated while their numbers stay the same.
    const facet::MapChange& change = map.change;
    std::uint64_t key = mix(mix_text(mix(serial_, kRegion), tensor_name(map.stage)), static_cast<std::uint64_t>(map.head));
    key = mix(mix(key, change.without_first_key ? 1 : 0), change.norm_weighted ? 1 : 0);
    if (change.minus != nullptr)
        key = mix(mix_text(key, tensor_name(change.minus_stage)), static_cast<std::uint64_t>(change.minus_head.value_or(-1)));
    for (const StateRef& state : {map.state, change.minus}) key = mix(key, reinterpret_cast<std::uintptr_t>(state.get()));
    return key;
}

const HeatmapRegion* MatrixStore::region(const LargeMap& map, std::int64_t heads, std::shared_ptr<const ReducedMap> region, bool is_whole) {
    const auto place = region->place_of(map.head, heads);
    if (!place) return nullptr;
    const MapRegion& cells = region->region;
    std::uint64_t key = key_of(map);
    for (const std::int64_t number : {cells.first_row, cells.rows, cells.first_col, cells.cols, std::int64_t{cells.level}})
        key = mix(key, static_cast<std::uint64_t>(number));
    const HeatmapRegion shown{.key = key,
                              .first_row = cells.first_row,
                              .rows = cells.rows,
                              .first_col = cells.first_col,
                              .cols = cells.cols,
                              .level = cells.level,
                              .values = region->numbers(*place),
                              .keep = region->keep.empty() ? nullptr : region->keep.data()};
    if (cells.rows > 1 && !is_whole) last_regions_[key_of(map)] = key;
    Region& kept = regions_.insert_or_assign(key, Region{std::move(region), shown, true}).first->second;
    return &kept.region;
}

Matrix MatrixStore::changed(const Matrix& matrix, const facet::MapChange& change, std::int64_t heads,
                            std::shared_ptr<const ReducedMap> numbers) {
    Matrix out = matrix;
    out.large->change = change;
    const auto place = numbers->place_of(out.large->head, heads);
    if (place) out.large->non_finite = numbers->non_finite[static_cast<std::size_t>(*place)];
    const HeatmapRegion* whole = region(*out.large, heads, std::move(numbers), true);
    if (whole == nullptr) return {};
    out.data.values = whole->values;
    out.data.keep = whole->keep;
    out.data.key = whole->key;
    out.data.level = whole->level;
    out.data.row_stride = whole->block_cols();
    out.data.finer = out.data.row = nullptr;
    return out;
}

const HeatmapRegion* MatrixStore::last_region(const LargeMap& map) {
    const auto last = last_regions_.find(key_of(map));
    const auto found = last == last_regions_.end() ? regions_.end() : regions_.find(last->second);
    if (found == regions_.end()) return nullptr;
    found->second.used = true;
    return &found->second.region;
}

Matrix MatrixStore::mean_map(const RecordedStage<float>& stage, const Tensor<float>& mean, std::int64_t batch) {
    Matrix out = slice(stage, batch, 0);
    out.name += " mean";
    out.symbol = "mean of the heads";
    out.mean_of = stage.id;
    out.origin.reset();
    out.edited = {};  // edit marks apply to single heads
    out.data.key = mix(out.data.key, kHeadMean);
    out.data.values = mean.data() + std::min(batch, mean.shape()[0].size - 1) * out.data.rows * out.data.cols;
    return out;
}

Matrix MatrixStore::totals(const Matrix& place, const TotalsMap& map) {
    const std::vector<TokenMap>& layers = map.rollout ? map.totals.rollouts : map.totals.head_means;
    const std::uint64_t key = mix(mix(generation_, kTotal),
                                  reinterpret_cast<std::uintptr_t>(layers[map.layer].data()) + static_cast<std::uintptr_t>(map.sequence));
    const auto [it, fresh] = changed_.try_emplace(key);
    if (fresh) it->second = slice_of_totals(map);
    return with_numbers(place, key, it->second);
}

std::shared_ptr<const StrongCells> MatrixStore::strong_cells(std::span<const MapOfHead> maps, std::size_t most) {
    std::uint64_t key = mix(generation_, most);
    for (const auto& [map, head] : maps) {
        const HeatmapRegion* rows = map->large ? map->data.row : nullptr;
        key = mix(mix(key, static_cast<std::uint64_t>(head)), rows != nullptr ? rows->key : map->large ? 0 : map->data.key);
    }
    Cells& cells = strong_cells_[key];
    cells.used = true;
    if (cells.found != nullptr) return cells.found;
    StrongestCells strongest(most);
    for (const auto& [map, head] : maps) {
        const HeatmapRegion* held = map->large ? map->data.row : nullptr;
        if (map->large && held == nullptr) continue;
        const std::int64_t first = held == nullptr ? 0 : held->first_row, end = held == nullptr ? map->data.rows : first + held->rows;
        for (std::int64_t row = first; row < end; ++row)
            for (std::int64_t col = 0; col < map->data.cols; ++col)
                if (!map->masked(row, col)) strongest.add({head, row, col, map->at(row, col)});
    }
    cells.found = std::make_shared<const StrongCells>(strongest.take());
    return cells.found;
}

std::shared_ptr<const StrongCells> MatrixStore::latest_cells(const StageId& stage, std::int64_t sequence,
                                                             std::shared_ptr<const StrongCells> found) {
    // Heads do not count: whoever draws the cells picks those of the heads that are shown.
    Cells& cells = latest_cells_[mix(mix_text(generation_, tensor_name(stage)), static_cast<std::uint64_t>(sequence))];
    cells.used = true;
    if (found != nullptr) cells.found = std::move(found);
    return cells.found;
}

Matrix MatrixStore::slice(const RecordedStage<float>& stage, std::int64_t batch, std::int64_t head) {
    Matrix matrix;
    const StageId& id = stage.id;
    const Shape& shape = stage.value.shape();
    const bool per_head = shape.rank() == 4;
    const bool vector = shape.rank() == 2;  // tokens [B,T]
    const std::int64_t b = std::min(batch, shape[0].size - 1);
    const std::int64_t h = !per_head ? 0 : stage.only_head ? *stage.only_head : std::min(head, shape[1].size - 1);
    const Dim rows = vector ? Dim{Axis::N, 1} : shape[shape.rank() - 2];
    const Dim cols = shape[shape.rank() - 1];

    matrix.symbol = stage_symbol(id.stage);
    matrix.name = tensor_name(id);
    matrix.row_axis = rows.axis;
    matrix.col_axis = cols.axis;
    matrix.content = has_probabilities(id.stage) ? Content::Probability : Content::Signed;
    const std::int64_t slice = per_head ? b * shape[1].size + stage.place_of_head(h) : b;
    matrix.data.values = stage.value.data() + slice * rows.size * cols.size;
    matrix.data.rows = rows.size;
    matrix.data.cols = cols.size;
    matrix.data.row_stride = cols.size;
    if (stage.mask != nullptr && !stage.mask->allows_everything()) matrix.data.keep = stage.mask->keep_row(b, h, 0);
    const auto trace_identity = reinterpret_cast<std::uintptr_t>(stage.value.data());
    matrix.data.key = mix(mix(mix_text(mix(generation_, kStage), matrix.name), static_cast<std::uint64_t>(slice)), trace_identity);
    if (stage.edited != nullptr && stage.edited->any_in(slice))
        matrix.edited = {stage.edited->by.data() + slice * rows.size * cols.size, cols.size, 1};
    CellRef origin;
    origin.stage = id;
    origin.index[0] = b;
    if (per_head) origin.index[1] = h;
    matrix.origin = origin;
    matrix.row_index = vector ? -1 : shape.rank() - 2;
    matrix.col_index = shape.rank() - 1;
    return matrix;
}

namespace {

/// Lets `data` refer to the view's numbers without copying.
void show_numbers(const MatrixView& view, HeatmapData& data) {
    data.values = view.numbers<float>();
    data.stored = data.values == nullptr ? view.data : nullptr;
    data.first = view.first;
    data.read = data.values == nullptr ? number_reader(view.kind) : nullptr;
    data.row_stride = view.transposed ? 1 : view.stride;
    data.col_stride = view.transposed ? view.stride : 1;
}

}  // namespace

Matrix MatrixStore::parameter(const Trace<float>& trace, const std::string& name, Axis row_axis, Axis col_axis, std::int64_t first_col,
                              std::int64_t cols, std::int64_t first_row, std::int64_t rows) {
    Matrix matrix;
    const ParameterPlace part = trace.parameters ? trace.parameters->layout().place(name) : ParameterPlace{};
    if (part.whole == nullptr) return matrix;
    const bool vector = part.whole->shape.rank() == 1;
    matrix.name = name;
    matrix.row_axis = row_axis;
    matrix.col_axis = col_axis;
    matrix.data.rows = rows >= 0 ? rows : part.rows() - first_row;
    matrix.data.cols = cols >= 0 ? cols : part.columns - first_col;
    const MatrixView all = trace.parameters->view(part);
    if (!all) return matrix;
    show_numbers(all.rows_from(first_row, matrix.data.rows).columns_from(first_col, matrix.data.cols), matrix.data);
    const auto place = static_cast<std::uint64_t>(first_row * part.stride() + first_col);
    matrix.data.key = mix(mix(mix_text(mix(generation_, kParameter), name), place), reinterpret_cast<std::uintptr_t>(all.data));
    CellRef origin;
    origin.parameter = name;
    origin.index[0] = vector ? first_col : first_row;
    if (!vector) origin.index[1] = first_col;
    matrix.origin = origin;
    matrix.row_index = vector ? -1 : 0;
    matrix.col_index = vector ? 0 : 1;
    return matrix;
}

Matrix MatrixStore::transposed(const Matrix& matrix, std::string symbol) {
    if (matrix.large) return {};
    Matrix out = matrix;
    out.symbol = std::move(symbol);
    out.name += " transposed";
    out.is_transposed = !matrix.is_transposed;
    std::swap(out.row_axis, out.col_axis);
    std::swap(out.row_index, out.col_index);
    std::swap(out.data.rows, out.data.cols);
    std::swap(out.data.row_stride, out.data.col_stride);
    std::swap(out.edited.row_stride, out.edited.col_stride);
    out.data.key = mix(matrix.data.key, kTransposed);
    out.data.keep = nullptr;
    return out;
}

Matrix MatrixStore::gradient_of(const Matrix& matrix, const Trace<float>& trace, const GradientTrace<float>& gradients) {
    if (matrix.empty() || !matrix.origin) return {};
    Matrix out;
    if (matrix.origin->parameter.empty()) {
        const RecordedStage<float>* stage = gradients.find(matrix.origin->stage);
        if (stage == nullptr || stage->value.empty()) return {};
        out = slice(*stage, matrix.origin->index[0], matrix.origin->index[1]);
        // A masked cell's gradient is exactly 0; show it as masked, like its value.
        const RecordedStage<float>* value = trace.find(matrix.origin->stage, matrix.origin->index[1]);
        if (out.data.keep == nullptr && value != nullptr && value->mask != nullptr && !value->mask->allows_everything())
            out.data.keep = value->mask->keep_row(matrix.origin->index[0], matrix.origin->index[1], 0);
        if (matrix.is_transposed) out = transposed(out, "");
    } else {
        const ParameterPlace part = trace.parameters->layout().place(matrix.origin->parameter);
        if (part.whole == nullptr || gradients.parameters == nullptr) return {};
        out = matrix;
        if (matrix.is_transposed) {
            out.is_transposed = false;
            std::swap(out.data.rows, out.data.cols);
            std::swap(out.row_axis, out.col_axis);
            std::swap(out.row_index, out.col_index);
        }
        const bool vector = part.whole->shape.rank() == 1;
        const std::int64_t row = vector ? 0 : matrix.origin->index[0], col = matrix.origin->index[vector ? 0 : 1];
        show_numbers(gradients.parameters->view(part).rows_from(row, out.data.rows).columns_from(col, out.data.cols), out.data);
        out.data.key = mix(matrix.data.key, kGradient);
        if (matrix.is_transposed) out = transposed(out, "");
    }
    out.edited = matrix.edited;
    out.symbol = "∂" + matrix.symbol;
    out.name = matrix.name + " gradient";
    out.row_axis = matrix.row_axis;
    out.content = Content::Signed;
    out.is_gradient = true;
    return out;
}

Matrix MatrixStore::with_numbers(Matrix matrix, std::uint64_t key, const ChangedSlice& numbers) {
    const std::int64_t rows = matrix.data.rows, cols = matrix.data.cols;
    matrix.data = {.key = key,
                   .values = numbers.values.data(),
                   .rows = rows,
                   .cols = cols,
                   .row_stride = cols,
                   .keep = numbers.keep.empty() ? nullptr : numbers.keep.data()};
    statistics_.insert_or_assign(key, numbers.statistics);
    matrix.is_changed = true;
    return matrix;
}

Matrix MatrixStore::with_slice(const Matrix& matrix, std::shared_ptr<const ChangedSlice> numbers) {
    Slice& slice = slices_[numbers.get()];
    if (slice.numbers == nullptr) slice.key = mix(kSlice, ++slices_so_far_);
    slice.used = true;
    slice.numbers = std::move(numbers);
    return with_numbers(matrix, slice.key, *slice.numbers);
}

Matrix MatrixStore::without_first_key(const Matrix& weights) {
    if (weights.large) return {};
    const std::uint64_t key = mix(weights.data.key, kWithoutFirst);
    const auto [it, fresh] = changed_.try_emplace(key);
    if (fresh) it->second = slice_without_first_key(grid_of(weights.data));
    Matrix out = with_numbers(weights, key, it->second);
    mark_without_first_key(out);
    return out;
}

Matrix MatrixStore::norm_weighted(const Matrix& weights, const Tensor<float>& norms, std::int64_t batch, std::int64_t head) {
    if (weights.large) return {};
    const std::uint64_t key = mix(mix(weights.data.key, kNormWeighted), reinterpret_cast<std::uintptr_t>(norms.data()));
    const auto [it, fresh] = changed_.try_emplace(key);
    if (fresh) it->second = norm_weighted_slice(grid_of(weights.data), norms_of_head(norms, batch, head));
    Matrix out = with_numbers(weights, key, it->second);
    mark_norm_weighted(out);
    return out;
}

Matrix MatrixStore::one_hot(const Trace<float>& trace, const StageId& tokens, std::int64_t batch) {
    const TokenBatch& ids = trace.tokens_of(tokens.stack);
    Matrix out;
    if (ids.size() == 0 || ids.length == 0) return out;
    const std::int64_t b = std::min(batch, ids.size() - 1);
    out.symbol = "one-hot";
    out.name = "one-hot tokens";
    out.row_axis = Axis::T;
    out.col_axis = Axis::V;
    out.content = Content::Probability;
    out.data.rows = ids.length;
    out.data.cols = trace.config.vocab_size;
    out.data.row_stride = out.data.cols;
    out.data.key = mix(mix(mix(generation_, kOneHot), static_cast<std::uint64_t>(b)), reinterpret_cast<std::uintptr_t>(ids.ids.data()));
    statistics_.try_emplace(out.data.key, TensorStatistics{.max = 1});  // nobody counts them
    out.data.stored = &one_hot_.insert_or_assign(out.data.key, OneHotRows{ids.ids.data() + b * ids.length, out.data.cols}).first->second;
    out.data.read = OneHotRows::read;
    return out;
}

float MatrixStore::OneHotRows::read(const void* rows, std::int64_t at) {
    const auto& [ids, cols] = *static_cast<const OneHotRows*>(rows);
    return ids[at / cols] == at % cols ? 1.F : 0.F;
}

Matrix MatrixStore::difference(const Matrix& now, const Matrix& before) {
    if (now.large || before.large || now.empty() || before.empty() || now.data.rows != before.data.rows ||
        now.data.cols != before.data.cols)
        return {};
    const std::uint64_t key = mix(mix(now.data.key, before.data.key), kDifference);
    const auto [it, fresh] = changed_.try_emplace(key);
    if (fresh) it->second = slice_difference(grid_of(now.data), grid_of(before.data), now.content == Content::Probability);
    Matrix out = with_numbers(now, key, it->second);
    mark_difference(out);
    return out;
}

const TensorStatistics& MatrixStore::statistics(const Matrix& matrix) {
    const auto [it, fresh] = statistics_.try_emplace(matrix.data.key);
    if (fresh && matrix.large) {
        HeatmapData blocks = matrix.data;
        blocks.rows = ((blocks.rows - 1) >> blocks.level) + 1;
        blocks.cols = blocks.row_stride;
        const TensorStatistics found = compute_statistics(blocks);
        it->second = {.nan = matrix.large->non_finite.nan, .infinite = matrix.large->non_finite.infinite};
        it->second.min = found.min;
        it->second.max = found.max;
        it->second.mean = found.mean;
        it->second.deviation = found.deviation;
    } else if (fresh) it->second = compute_statistics(matrix.data);
    return it->second;
}

std::pair<float, float> MatrixStore::latest_range(const std::string& name, const TensorStatistics* now) {
    std::pair<float, float>& last = latest_ranges_[name];
    if (now != nullptr) last = {now->min, now->max};
    return last;
}

Matrix MatrixStore::row_sums(const Matrix& matrix) {
    if (matrix.empty() || matrix.large) return {};
    const std::uint64_t key = mix(matrix.data.key, kRowSums);
    const auto [it, fresh] = changed_.try_emplace(key);
    if (fresh) it->second = slice_row_sums(grid_of(matrix.data));
    return with_numbers(place_of_row_sums(matrix), key, it->second);
}

}  // namespace attn::app

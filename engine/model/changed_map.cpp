#include "engine/model/changed_map.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn {
namespace {

/// Memory for the rows of all heads that are changed at a time.
constexpr std::int64_t kPlanesBytes = 16 << 20;

/// Some rows of one head, or of all heads and, for weights, their mean.
struct Planes {
    std::vector<std::int64_t> heads;  ///< the number of heads stands for their mean
    Tensor<float> values;             ///< [1,N,rows,S]
    Mask keep;                        ///< [rows,S]

    float* row(std::size_t plane, std::int64_t t) {
        return values.data() + (static_cast<std::int64_t>(plane) * values.shape()[2].size + t) * values.shape()[3].size;
    }
};

/// The map if it is recorded with all heads, else null.
const RecordedStage<float>* recorded_map(const MapOfOutline& map) {
    for (const Trace<float>* trace : {map.held, &map.outline}) {
        const RecordedStage<float>* stage = trace == nullptr ? nullptr : trace->find(map.id);
        if (stage != nullptr && !stage->only_head && !stage->value.empty()) return stage;
    }
    return nullptr;
}

/// Reads rows of a map: recorded ones, or else recomputed ones.
class RowsOfMap {
public:
    RowsOfMap(const MapOfOutline& map, std::vector<std::int64_t> heads, const std::stop_token& stop)
        : map_(map), stop_(stop), recorded_(recorded_map(map)), all_heads_(map.outline.shape_of(map.id)[1].size) {
        planes_.heads = std::move(heads);
        if (map.held == nullptr && recorded_ == nullptr) computed_.emplace(read_by_maps(map.outline, map.id, stop));
    }
    Planes& read(std::int64_t first, std::int64_t count) {
        const std::int64_t keys = map_.outline.shape_of(map_.id)[3].size;
        planes_.values.resize({{Axis::B, 1}, {Axis::H, std::ssize(planes_.heads)}, {Axis::T, count}, {Axis::S, keys}});
        planes_.keep = Mask(count, keys);
        if (recorded_ != nullptr) {
            take_recorded(first, count);
            return planes_;
        }
        const auto add = [&](const StageRows<float>& shown) {
            if (shown.id == map_.id) take(shown, shown.first - first);
        };
        show_map_rows(map_.outline, map_.id, map_.held != nullptr ? map_.held : &*computed_, first, count, add, stop_);
        return planes_;
    }

private:
    void take_recorded(std::int64_t first, std::int64_t count) {
        Tensor<float> rows(with_positions(recorded_->value.shape(), count));
        copy_positions(recorded_->value, first, rows, 0, count);
        take({map_.id, first, rows, nullptr}, 0);
        const Mask* mask = recorded_->mask.get();
        for (std::int64_t t = 0; mask != nullptr && t < count; ++t) planes_.keep.set_row(t, mask->keep_row(0, 0, first + t));
    }
    void take(const StageRows<float>& shown, std::int64_t at) {
        const std::int64_t rows = shown.value.shape()[2].size, keys = shown.value.shape()[3].size;
        for (std::int64_t t = 0; shown.mask != nullptr && t < rows; ++t) planes_.keep.set_row(at + t, shown.mask->keep_row(0, 0, t));
        for (std::size_t plane = 0; plane < planes_.heads.size(); ++plane) {
            const std::int64_t head = planes_.heads[plane];
            if (head < all_heads_) std::copy_n(shown.value.data() + head * rows * keys, rows * keys, planes_.row(plane, at));
            else std::copy_n(head_mean({shown.id, shown.value}).data(), rows * keys, planes_.row(plane, at));
        }
    }

    const MapOfOutline map_;
    std::stop_token stop_;
    const RecordedStage<float>* recorded_;
    std::int64_t all_heads_;
    std::optional<Trace<float>> computed_;
    Planes planes_;
};

void leave_out_first_key(Planes& planes) {
    const std::int64_t rows = planes.keep.queries(), keys = planes.keep.keys();
    parallel_for(std::ssize(planes.heads) * rows, keys, [&](std::int64_t i) {
        float* row = planes.values.data() + i * keys;
        const std::uint8_t* keep = planes.keep.keep_row(0, 0, i % rows);
        double sum = 0;
        for (std::int64_t s = 1; s < keys; ++s) sum += keep[s] != 0 ? static_cast<double>(row[s]) : 0;
        row[0] = 0;
        for (std::int64_t s = 1; s < keys; ++s) row[s] = sum == 0 ? 0 : static_cast<float>(static_cast<double>(row[s]) / sum);
    });
    for (std::int64_t t = 0; t < rows; ++t) planes.keep.forbid(t, 0);
}

void multiply(const Tensor<float>& norms, Planes& planes) {
    const std::int64_t rows = planes.keep.queries(), keys = planes.keep.keys(), heads = norms.shape()[1].size;
    for (std::size_t plane = 0; plane < planes.heads.size(); ++plane) {
        if (planes.heads[plane] >= heads) continue;
        const float* norm = norms.data() + planes.heads[plane] * keys;
        parallel_for(rows, keys, [&](std::int64_t t) {
            float* row = planes.row(plane, t);
            for (std::int64_t s = 0; s < keys; ++s) row[s] *= norm[s];
        });
    }
}

void subtract(Planes& before, bool numbers_everywhere, Planes& planes) {
    const std::int64_t rows = planes.keep.queries(), keys = planes.keep.keys();
    parallel_for(rows, keys * std::ssize(planes.heads), [&](std::int64_t t) {
        for (std::int64_t s = 0; s < keys; ++s) {
            const bool now = planes.keep.may_attend(0, 0, t, s), then = before.keep.may_attend(0, 0, t, s);
            const bool kept = numbers_everywhere ? now || then : now && then;
            for (std::size_t plane = 0; plane < planes.heads.size(); ++plane)
                planes.row(plane, t)[s] = kept ? planes.row(plane, t)[s] - before.row(plane, t)[s] : 0;
            if (kept) planes.keep.allow(t, s);
            else planes.keep.forbid(t, s);
        }
    });
}

}  // namespace

ReducedMap region_of_changed_map(const MapOfOutline& map, const MapRegion& region, const MapChange& change,
                                 std::optional<std::int64_t> only_head, std::stop_token stop) {
    const Shape shape = map.outline.shape_of(map.id);
    const std::int64_t heads = shape[1].size, keys = shape[3].size;
    const bool mean = has_mean_map(map.id.stage) && !only_head;
    std::vector<std::int64_t> shown(static_cast<std::size_t>(only_head ? 1 : heads + (mean ? 1 : 0)), only_head.value_or(0));
    if (!only_head) std::iota(shown.begin(), shown.end(), 0);
    std::optional<RowsOfMap> other;
    if (change.minus) {
        const Shape before = change.minus->outline.shape_of(change.minus->id);
        if (before[2].size != shape[2].size || before[3].size != keys)
            throw Error("maps of " + shape.text() + " and " + before.text() + " have no difference");
        std::vector<std::int64_t> of_other = shown;
        for (std::int64_t& head : of_other)
            head = std::min(change.minus_head.value_or(head == heads ? before[1].size : head), before[1].size);
        other.emplace(*change.minus, std::move(of_other), stop);
    }
    const auto planes_shown = std::ssize(shown);
    RowsOfMap rows(map, std::move(shown), stop);
    MapReducer reducer(map.id, region, planes_shown);
    const std::int64_t at_once = std::max<std::int64_t>(16, kPlanesBytes / (planes_shown * keys * std::int64_t{sizeof(float)}));
    const bool numbers_everywhere = is_probability(map.id.stage) || map.id.stage == Stage::Dropped;
    for (std::int64_t first = region.first_row; first < region.first_row + region.rows; first += at_once) {
        const std::int64_t count = std::min(at_once, region.first_row + region.rows - first);
        Planes& planes = rows.read(first, count);
        if (change.without_first_key) leave_out_first_key(planes);
        if (change.norms != nullptr) multiply(*change.norms, planes);
        if (other) subtract(other->read(first, count), numbers_everywhere, planes);
        reducer.add(planes.values, &planes.keep, first);
    }
    ReducedMap out = reducer.take();
    out.only_head = only_head;
    out.mean = mean;
    return out;
}

}  // namespace attn

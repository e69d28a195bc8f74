#include "engine/model/looked_at_part.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "engine/model/continued_outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/rest_of_text.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

/// Stages that are wanted; none: all.
using Stages = std::optional<std::vector<StageId>>;

bool wants(const Stages& stages, const StageId& id) { return !stages || std::find(stages->begin(), stages->end(), id) != stages->end(); }

/// What a trace was computed from.
Trace<float> without_stages(const Trace<float>& trace) {
    return {trace.config, trace.plan, trace.settings, trace.tokens, trace.source_tokens, trace.parameters, {}, {}};
}

LookedAtPart with_statistics(Trace<float> trace) {
    LookedAtPart part{std::move(trace), {}, {}};
    part.ranges = stage_ranges(part.trace);
    part.head_scores = head_scores(part.trace);
    return part;
}

/// Assembles stages that arrive in rows.
class RowsOfPart {
public:
    /// `head` and `level` are of attention maps: the only head recorded, or what they are reduced to instead. `comes_whole`: stages that
    /// are added by add_whole() in the end, instead of being assembled here; empty: none.
    RowsOfPart(const Trace<float>& outline, Stages stages, std::optional<std::int64_t> head, std::optional<int> level,
               const PartInRows& in_rows, std::function<bool(const StageId&)> comes_whole = {})
        : outline_(outline), stages_(std::move(stages)), head_(head), level_(level), in_rows_(in_rows),
          comes_whole_(std::move(comes_whole)), out_{without_stages(outline), {}, {}} {}

    void begin_with(const RecordedStage<float>& stream) {
        out_.trace.stages.push_back(stream);
        out_.ranges.push_back(stage_range(stream));
    }
    void add(const StageRows<float>& shown) {
        extend(range_of(shown.id), shown.value, shown.mask);
        if (shown.id.stage == Stage::Weights) {
            if (!sums_) sums_.emplace(shown.id, outline_.tokens);
            sums_->add(shown.value, shown.mask, shown.first);
            tell(shown.first + shown.value.shape()[2].size);
        }
        if (!wants(stages_, shown.id)) return;
        if (level_ && is_attention_map(shown.id.stage)) reducer_of(shown.id).add(shown.value, shown.mask, shown.first);
        else record(shown);
    }
    void add_whole(const StageId& id, Tensor<float>&& value) {
        for (RecordedStage<float>& stage : out_.trace.stages)
            if (stage.id == id) stage.value = std::move(value);
    }
    LookedAtPart take() {
        if (sums_) out_.head_scores = sums_->scores();
        for (auto& [id, reducer] : reducers_) out_.trace.reduced.push_back(reducer.take());
        for (RecordedStage<float>& stage : out_.trace.stages) stage.edited = marks_in(stage);
        return std::move(out_);
    }

private:
    std::shared_ptr<const EditMarks> marks_in(const RecordedStage<float>& stage) const {
        std::vector<Edit> edits = outline_.settings.edits;
        for (Edit& edit : edits) {
            if (!stage.only_head || edit.head == Edit::kAll) continue;
            edit.on = edit.on && edit.head == *stage.only_head;
            edit.head = 0;  // the recorded stage has just this head
        }
        return marks_of(edits, stage.id, stage.value.shape(), stage.mask.get());
    }
    StageRange& range_of(const StageId& id) {
        const auto found = std::find_if(out_.ranges.begin(), out_.ranges.end(), [&](const StageRange& range) { return range.id == id; });
        return found != out_.ranges.end() ? *found : out_.ranges.emplace_back(StageRange{id});
    }
    void tell(std::int64_t done) {
        constexpr std::int64_t kTold = 20;
        const std::int64_t all = outline_.tokens.length;
        if (in_rows_.progress && kTold * done / all != kTold * told_ / all) in_rows_.progress(done, all);
        told_ = done;
    }
    MapReducer& reducer_of(const StageId& id) {
        const auto found = std::find_if(reducers_.begin(), reducers_.end(), [&](const auto& one) { return one.first == id; });
        if (found != reducers_.end()) return found->second;
        const Shape shape = outline_.shape_of(id);
        const MapRegion all{0, shape[2].size, 0, shape[3].size, *level_};
        return reducers_.emplace_back(id, MapReducer(id, all, shape[1].size, {}, has_mean_map(id.stage))).second;
    }
    RecordedStage<float>& stage_of(const StageRows<float>& shown) {
        auto& stages = out_.trace.stages;
        const auto found = std::find_if(stages.begin(), stages.end(), [&](const auto& stage) { return stage.id == shown.id; });
        if (found != stages.end()) return *found;
        Shape shape = outline_.shape_of(shown.id);
        RecordedStage<float> stage{shown.id, {}};
        if (shown.mask != nullptr && masks_.self == nullptr)
            masks_ = masks_of_rows(*outline_.plan, outline_.settings.masks, outline_.tokens, 0, outline_.tokens.length);
        if (shown.mask != nullptr) stage.mask = masks_.of(shown.id, outline_.plan->at(shown.id).settings.window);
        if (head_ && is_attention_map(shown.id.stage)) {
            stage.only_head = head_;
            shape = shape.with_size(1, 1);
        }
        if (!is_added_whole(shown.id)) stage.value.resize(shape);
        return stages.emplace_back(std::move(stage));
    }
    bool is_added_whole(const StageId& id) const { return comes_whole_ && comes_whole_(id); }
    void record(const StageRows<float>& shown) {
        RecordedStage<float>& stage = stage_of(shown);
        if (is_added_whole(shown.id)) return;
        const PositionRows rows(shown.value.shape());
        if (!stage.only_head) return copy_positions(shown.value, 0, stage.value, shown.first, rows.positions);
        std::copy_n(shown.value.data() + *stage.only_head * rows.positions * rows.width, rows.positions * rows.width,
                    stage.value.data() + shown.first * rows.width);
    }

    const Trace<float>& outline_;
    const Stages stages_;
    const std::optional<std::int64_t> head_;
    const std::optional<int> level_;
    const PartInRows& in_rows_;
    const std::function<bool(const StageId&)> comes_whole_;
    PassMasks masks_;
    std::optional<HeadScoreSums> sums_;
    std::vector<std::pair<StageId, MapReducer>> reducers_;
    std::int64_t told_ = 0;
    LookedAtPart out_;
};

/// A layer of a text that continues another one. The maps are recomputed as a whole, because they have more columns; other stages only for
/// the positions after the common prefix.
class ContinuedPart {
public:
    ContinuedPart(const Trace<float>& outline, const PlanPart& part, const Trace<float>& before)
        : outline_(outline), before_(before), part_(part), nodes_(outline.plan->nodes()),
          kept_(std::min(positions_kept(before, outline.tokens), outline.tokens.length - 1)), maps_(first(Op::Scores)),
          mix_(first(Op::Mix)) {}

    /// Whether the layer's maps are consecutive nodes and the other text has all its stages.
    bool possible() const {
        if (kept_ < 1 || mix_ >= part_.end || maps_ >= mix_) return false;
        for (std::size_t i = part_.first; i < part_.end; ++i)
            if (before_.find(nodes_[i].id) == nullptr || is_attention_map(nodes_[i].id.stage) != (i >= maps_ && i < mix_)) return false;
        return true;
    }

    Trace<float> compute(const std::stop_token& stop) const {
        const Weights weights(*outline_.parameters);
        Program<float> program(*outline_.plan, weights, Form::Staged, Keep::Everything);
        const std::span<const std::int32_t> ids = outline_.tokens.ids;
        RestOfText<float> rest(program, outline_.settings, kept_, ids.subspan(static_cast<std::size_t>(kept_)), stop),
            all(program, outline_.settings, 0, ids, stop);
        Trace<float> out = without_stages(outline_);
        const auto add = [&](std::size_t i) -> const Tensor<float>& {
            out.stages.push_back({nodes_[i].id, rest.joined(before_.find(nodes_[i].id)->value, i)});
            return out.stages.back().value;
        };
        const RecordedStage<float>& stream = *outline_.find(*part_.stream);
        out.stages.push_back(stream);
        rest.give(program.place(stream.id), stream.value);
        rest.forward(part_.first, maps_);
        for (std::size_t i = part_.first; i < maps_; ++i) {
            const Tensor<float>& whole = add(i);
            if (is_read_by_maps(nodes_[i].id)) program.value(i) = whole;
        }
        all.forward(maps_, mix_);
        for (std::size_t i = maps_; i < mix_; ++i) {
            const bool masked = knows_mask(nodes_[i].op);
            out.stages.push_back(
                {nodes_[i].id, std::move(program.value(i)), masked ? all.masks().of(nodes_[i].id, nodes_[i].settings.window) : nullptr});
        }
        rest.give(program.place(nodes_[mix_].inputs[0]), out.find(nodes_[mix_].inputs[0])->value);
        rest.forward(mix_, part_.end);
        for (std::size_t i = mix_; i < part_.end; ++i) add(i);
        return out;
    }

private:
    std::size_t first(Op op) const {
        std::size_t place = part_.first;
        while (place < part_.end && nodes_[place].op != op) ++place;
        return place;
    }
    bool is_read_by_maps(const StageId& id) const {
        for (std::size_t i = maps_; i <= mix_; ++i)
            if (std::find(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), id) != nodes_[i].inputs.end()) return true;
        return false;
    }

    const Trace<float>&outline_, &before_;
    const PlanPart part_;
    const std::vector<PlanNode>& nodes_;
    const std::int64_t kept_;
    const std::size_t maps_, mix_;
};

/// A single layer is computed fewer positions at a time than the layers of a whole pass: packing its weights once more costs little time,
/// while the feed-forward rows of a long text would take much memory.
RowCounts rows_of_one_layer(const Config& config, std::int64_t positions, std::int64_t wanted) {
    constexpr std::int64_t kRowsOfOneLayer = 256;
    RowCounts rows = rows_at_a_time(config, positions, wanted);
    if (wanted == 0) rows.products = std::max(rows.maps, std::min(rows.products, kRowsOfOneLayer));
    return rows;
}

/// The layer around a stage, and the stages of the outline it is computed from.
struct LayerOfOutline {
    LayerOfOutline(const Trace<float>& outline, const StageId& within, std::stop_token stop, std::int64_t wanted_rows = 0)
        : part(outline.plan->part_around(within)), weights(*outline.parameters),
          layer(*outline.plan, weights, outline.settings, outline.tokens, std::move(stop)),
          rows(rows_of_one_layer(outline.config, outline.tokens.length, wanted_rows)) {
        stream = part.stream ? outline.find(*part.stream) : nullptr;
        if (stream == nullptr || !can_compute_in_rows(outline))
            throw Error("the maps around " + tensor_name(within) + " cannot be computed in rows");
    }
    const PlanPart part;
    const Weights weights;
    LayerInRows<float> layer;
    const RowCounts rows;
    const RecordedStage<float>* stream = nullptr;
};

/// Computes the part around a stage in the way that suits what is wanted of it.
class PartLooker {
public:
    PartLooker(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const PartInRows& in_rows, std::stop_token stop)
        : outline_(outline), within_(within), in_rows_(in_rows), stop_(std::move(stop)), part_(outline->plan->part_around(within)) {}

    LookedAtPart operator()(const WholePart& wanted) const {
        if (wanted.before != nullptr && part_.stream && outline_->find(*part_.stream) != nullptr) {
            const ContinuedPart continued(*outline_, part_, *wanted.before);
            if (continued.possible()) return with_statistics(continued.compute(stop_));
        }
        return (*this)(NumbersOfPart{});
    }
    LookedAtPart operator()(const NumbersOfPart& wanted) const {
        const std::int64_t positions = outline_->tokens.length;
        const bool is_long = rows_at_a_time(outline_->config, positions, in_rows_.rows).maps < positions;
        return is_long && can_compute_in_rows() ? layer_in_rows(wanted.stages, wanted.head, {}) : at_once(wanted.stages);
    }
    LookedAtPart operator()(const ReducedPart& wanted) const {
        return can_compute_in_rows() ? layer_in_rows(wanted.stages, {}, wanted.level) : at_once(wanted.stages);
    }
    LookedAtPart operator()(const MapsAlone& wanted) const {
        if (!can_compute_in_rows()) return at_once(wanted.maps);
        RowsOfPart found(*outline_, wanted.maps, {}, wanted.level, in_rows_);
        const auto add = [&](const StageRows<float>& shown) { found.add(shown); };
        show_map_rows(*outline_, within_, nullptr, 0, outline_->tokens.length, add, stop_);
        return found.take();
    }

private:
    bool can_compute_in_rows() const { return part_.stream && attn::can_compute_in_rows(*outline_); }
    LookedAtPart at_once(const Stages& stages) const {
        std::function<bool(const StageId&)> keeps;
        if (stages) keeps = [&](const StageId& id) { return wants(stages, id); };
        Recomputation<float> again(outline_, keeps ? Keep::OneLayer : Keep::Everything);
        return with_statistics(again.trace_around(within_, stop_, keeps));
    }
    LookedAtPart layer_in_rows(const Stages& stages, std::optional<std::int64_t> head, std::optional<int> level) const {
        LayerOfOutline of(*outline_, within_, stop_, in_rows_.rows);
        const auto is_kept = [&](const StageId& id) { return !is_attention_map(id.stage) && of.layer.is_kept(of.part, id); };
        RowsOfPart found(*outline_, stages, head, level, in_rows_, is_kept);
        found.begin_with(*of.stream);
        std::vector<Tensor<float>> kept =
            of.layer.show(of.part, of.stream->value, of.rows, [&](const StageRows<float>& shown) { found.add(shown); });
        for (std::size_t i = 0; i < kept.size(); ++i)
            if (const StageId& id = outline_->plan->nodes()[of.part.first + i].id; is_kept(id)) found.add_whole(id, std::move(kept[i]));
        return found.take();
    }

    const std::shared_ptr<const Trace<float>>& outline_;
    const StageId& within_;
    const PartInRows& in_rows_;
    const std::stop_token stop_;
    const PlanPart part_;
};

}  // namespace

LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted,
                          const PartInRows& in_rows, std::stop_token stop) {
    return std::visit(PartLooker(outline, within, in_rows, std::move(stop)), wanted);
}

bool has_mean_map(Stage stage) { return stage == Stage::Weights || stage == Stage::Dropped; }

void show_map_rows(const Trace<float>& outline, const StageId& within, const Trace<float>* held, std::int64_t first, std::int64_t count,
                   const RowsObserver<float>& each, std::stop_token stop) {
    LayerOfOutline of(outline, within, std::move(stop));
    of.layer.show_maps(of.part, of.stream->value, held, first, count, of.rows, each);
}

Trace<float> read_by_maps(const Trace<float>& outline, const StageId& within, std::stop_token stop) {
    LayerOfOutline of(outline, within, std::move(stop));
    std::vector<Tensor<float>> read = of.layer.before_maps(of.part, of.stream->value, outline.tokens.length, of.rows);
    Trace<float> out = without_stages(outline);
    for (std::size_t i = 0; i < read.size(); ++i)
        if (!read[i].empty()) out.stages.push_back({outline.plan->nodes()[of.part.first + i].id, std::move(read[i])});
    return out;
}

ReducedMap region_of_map(const Trace<float>& outline, const StageId& id, const MapRegion& region, const Trace<float>* held,
                         std::optional<std::int64_t> only_head, std::stop_token stop) {
    MapReducer reducer(id, region, outline.shape_of(id)[1].size, only_head, has_mean_map(id.stage));
    const auto add = [&](const StageRows<float>& shown) {
        if (shown.id == id) reducer.add(shown.value, shown.mask, shown.first);
    };
    show_map_rows(outline, id, held, region.first_row, region.rows, add, std::move(stop));
    return reducer.take();
}

}  // namespace attn

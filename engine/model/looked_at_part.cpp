#include "engine/model/looked_at_part.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/model/outline.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/position_rows.hpp"

namespace attn {
namespace {

bool wants(const WantedOfPart& wanted, const StageId& id) {
    return !wanted.stages || std::find(wanted.stages->begin(), wanted.stages->end(), id) != wanted.stages->end();
}

LookedAtPart at_once(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted,
                     std::stop_token stop) {
    std::function<bool(const StageId&)> keeps;
    if (wanted.stages) keeps = [&](const StageId& id) { return wants(wanted, id); };
    Recomputation<float> again(outline, keeps ? Keep::OneLayer : Keep::Everything);
    LookedAtPart part{again.trace_around(within, std::move(stop), keeps), {}, {}};
    part.ranges = stage_ranges(part.trace);
    part.head_scores = head_scores(part.trace);
    return part;
}

/// Puts together what comes in rows.
class RowsOfPart {
public:
    RowsOfPart(const Trace<float>& outline, const PlanPart& part, const WantedOfPart& wanted)
        : outline_(outline),
          wanted_(wanted), out_{unrecorded_trace(outline.parameters, outline.tokens, outline.source_tokens, outline.settings), {}, {}} {
        mask_ = std::make_shared<const Mask>(build_mask(outline.settings.masks, outline.tokens.lengths, outline.tokens.length));
        const RecordedStage<float>& stream = *outline.find(*part.stream);
        out_.trace.stages.push_back(stream);
        out_.ranges.push_back(stage_range(stream));
    }

    void add(const StageRows<float>& shown) {
        extend(range_of(shown.id), shown.value, shown.mask);
        if (to_self(shown.id.stage) == Stage::Weights) {
            if (!sums_) sums_.emplace(shown.id, outline_.tokens);
            sums_->add(shown.value, shown.mask, shown.first);
        }
        if (wants(wanted_, shown.id)) record(shown);
    }
    LookedAtPart take() {
        if (sums_) out_.head_scores = sums_->scores();
        return std::move(out_);
    }

private:
    StageRange& range_of(const StageId& id) {
        const auto found = std::find_if(out_.ranges.begin(), out_.ranges.end(), [&](const StageRange& range) { return range.id == id; });
        return found != out_.ranges.end() ? *found : out_.ranges.emplace_back(StageRange{id});
    }
    RecordedStage<float>& stage_of(const StageRows<float>& shown) {
        auto& stages = out_.trace.stages;
        const auto found = std::find_if(stages.begin(), stages.end(), [&](const auto& stage) { return stage.id == shown.id; });
        if (found != stages.end()) return *found;
        Shape shape = outline_.shape_of(shown.id);
        RecordedStage<float> stage{shown.id, {}};
        if (shown.mask != nullptr) stage.mask = mask_;
        if (wanted_.head && is_attention_map(shown.id.stage)) {
            stage.only_head = wanted_.head;
            shape = shape.with_size(1, 1);
        }
        stage.value = Tensor<float>(shape);
        return stages.emplace_back(std::move(stage));
    }
    void record(const StageRows<float>& shown) {
        RecordedStage<float>& stage = stage_of(shown);
        const PositionRows rows(shown.value.shape());
        if (!stage.only_head) return copy_positions(shown.value, 0, stage.value, shown.first, rows.positions);
        std::copy_n(shown.value.data() + *stage.only_head * rows.positions * rows.width, rows.positions * rows.width,
                    stage.value.data() + shown.first * rows.width);
    }

    const Trace<float>& outline_;
    const WantedOfPart& wanted_;
    std::shared_ptr<const Mask> mask_;
    std::optional<HeadScoreSums> sums_;
    LookedAtPart out_;
};

}  // namespace

LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted,
                          std::stop_token stop) {
    const PlanPart part = outline->plan->part_around(within);
    const std::int64_t rows = wanted.rows > 0 ? wanted.rows : rows_at_a_time(outline->config, outline->tokens.length);
    if (!part.stream || rows >= outline->tokens.length || !can_compute_in_rows(outline->config, outline->tokens, outline->settings))
        return at_once(outline, within, wanted, std::move(stop));
    if (outline->find(*part.stream) == nullptr) throw Error("the outline has no " + tensor_name(*part.stream));
    RowsOfPart found(*outline, part, wanted);
    Recomputation<float> again(outline, Keep::OneLayer);
    again.show_rows_around(
        within, [&](const StageRows<float>& shown) { found.add(shown); }, std::move(stop), rows);
    return found.take();
}

}  // namespace attn

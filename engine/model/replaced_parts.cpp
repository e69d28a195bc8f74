#include "engine/model/replaced_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/model/model_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/linear.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

std::int64_t length_of(const TokenBatch& tokens, std::int64_t text) { return tokens.lengths[static_cast<std::size_t>(text)]; }

/// How many positions both texts of a patch have.
std::int64_t shared_length(const TokenBatch& tokens, const KnockOutQuestion::Patch& patch) {
    return std::min(length_of(tokens, patch.from), length_of(tokens, patch.into));
}

std::vector<PartWorth> heads_of(const Trace<float>& trace) {
    std::vector<PartWorth> heads;
    for (const PlanNode& node : trace.plan->nodes()) {
        if (node.op != Op::Mix) continue;
        for (std::int64_t head = 0; head < trace.config.num_heads; ++head) heads.push_back({node.id, head});
    }
    return heads;
}

/// Blocks of a layer are side by side; other parts have a row for each stage and a column for each head or position.
void place_in_grid(std::vector<PartWorth>& parts, ReplacedParts kind) {
    const PartWorth* before = nullptr;
    for (PartWorth& part : parts) {
        const StageId& id = part.stage;
        const bool blocks = kind == ReplacedParts::Blocks, feed_forward = id.stage == Stage::FfnOut || id.stage == Stage::FfnNorm;
        part.column = !blocks                           ? part.index
                      : feed_forward                    ? kFeedForwardColumn
                      : id.attention == kCrossAttention ? kCrossColumn
                                                        : kAttentionColumn;
        if (before != nullptr) {
            const StageId& last = before->stage;
            const bool same_row = blocks ? last.layer == id.layer && last.stack == id.stack : last == id;
            part.row = before->row + (same_row ? 0 : 1);
        }
        before = &part;
    }
}

/// Whether this stage is what an attention adds to the stream: its result after the norm and the projection, as far as it has them.
bool ends_attention(const Plan& plan, const StageId& id) {
    const auto has = [&](Stage stage) { return plan.find(of_same_attention(id, stage)) != nullptr; };
    if (has(Stage::AttentionNorm)) return id.stage == Stage::AttentionNorm;
    return id.stage == Stage::AttentionOut || (id.stage == Stage::Concat && !has(Stage::AttentionOut));
}

/// The same for a feed-forward network.
bool ends_feed_forward(const Plan& plan, const StageId& id) {
    if (id.stage == Stage::FfnNorm) return true;
    return id.stage == Stage::FfnOut && plan.find({Stage::FfnNorm, id.layer, id.stack}) == nullptr;
}

/// The stages that the parts belong to, in the order of the plan.
std::vector<StageId> replaced_stages(const Plan& plan, ReplacedParts parts) {
    std::vector<StageId> stages;
    if (parts == ReplacedParts::Positions) {  // of the stream, those that enter a layer
        for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder}) {
            const std::vector<StageId> streams = plan.streams(stack);
            if (!streams.empty()) stages.insert(stages.end(), streams.begin(), streams.end() - 1);
        }
        return stages;
    }
    const bool attention = parts != ReplacedParts::FeedForwardPositions, feed_forward = parts != ReplacedParts::AttentionPositions;
    for (const PlanNode& node : plan.nodes())
        if ((attention && ends_attention(plan, node.id)) || (feed_forward && ends_feed_forward(plan, node.id))) stages.push_back(node.id);
    return stages;
}

std::vector<PartWorth> stages_of(const Trace<float>& trace, const KnockOutQuestion& question) {
    std::vector<PartWorth> parts;
    for (const StageId& id : replaced_stages(*trace.plan, question.parts)) {
        const std::int64_t count = at_positions(question.parts) ? shared_length(trace.tokens_of(id.stack), *question.patch) : 1;
        for (std::int64_t index = 0; index < count; ++index) parts.push_back({id, index});
    }
    return parts;
}

/// Collects the changes from the stages of a pass.
class Changes {
public:
    Changes(const Trace<float>& trace, const std::vector<PartWorth>& parts, const KnockOutQuestion& question)
        : trace_(trace), parts_(parts), question_(question), ends_at_place_(question.place && prefix_stays(trace.config, trace.settings)) {
        found.squares.resize(parts.size());
    }

    /// `value` may be the whole stage or some of its positions.
    void see(const StageId& id, const Tensor<float>& value) {
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].stage == id)
                found.squares[i] += question_.parts == ReplacedParts::Heads    ? of_head(value, id, parts_[i].index)
                                    : question_.parts == ReplacedParts::Blocks ? of_block(value, id)
                                                                               : of_position(value, parts_[i]);
    }

    PartChanges found;

private:
    /// How many of a patch's positions count: those that both texts have, up to the place if nothing behind it can matter.
    std::int64_t rows(Stack stack) const {
        const std::int64_t shared = shared_length(trace_.tokens_of(stack), *question_.patch);
        return ends_at_place_ ? std::min(shared, question_.place->position + 1) : shared;
    }
    double of_head(const Tensor<float>& context, const StageId& id, std::int64_t head) {
        const std::int64_t heads = context.shape()[1].size;
        if (question_.patch) {
            const std::int64_t count = rows(id.stack);
            changed_ = matrix_of(context, question_.patch->into * heads + head).topRows(count) -
                       matrix_of(context, question_.patch->from * heads + head).topRows(count);
            return added_by(id, head);
        }
        double squares = 0;
        for (std::int64_t b = 0; b < context.shape()[0].size; ++b) {
            changed_ = matrix_of(context, b * heads + head);
            squares += added_by(id, head);
        }
        return squares;
    }
    /// Of changed_ times the head's rows of W_O.
    double added_by(const StageId& id, std::int64_t head) {
        const PlanNode* node = trace_.plan->find(of_same_attention(id, Stage::AttentionOut));
        if (node == nullptr) return changed_.cast<double>().squaredNorm();
        const MatrixView matrix = trace_.parameters->view(node->weight.name);
        added_.resize(changed_.rows(), matrix.columns);
        linear<float>(changed_.data(), changed_.rows(), matrix.rows_from(head * changed_.cols(), changed_.cols()), nullptr, added_.data());
        return added_.cast<double>().squaredNorm();
    }
    double of_block(const Tensor<float>& added, const StageId& id) const {
        if (!question_.patch) return array_of(added).cast<double>().square().sum();
        const std::int64_t count = rows(id.stack);
        return (matrix_of(added, question_.patch->into).topRows(count) - matrix_of(added, question_.patch->from).topRows(count))
            .cast<double>()
            .squaredNorm();
    }
    /// Of a stream, relative to its size, which grows from layer to layer.
    double of_position(const Tensor<float>& value, const PartWorth& part) const {
        if (part.index >= rows(part.stage.stack)) return 0;
        const auto own = matrix_of(value, question_.patch->into).row(part.index);
        const double change = (own - matrix_of(value, question_.patch->from).row(part.index)).cast<double>().squaredNorm();
        if (change == 0 || question_.parts != ReplacedParts::Positions) return change;
        return change / std::max(own.cast<double>().squaredNorm(), std::numeric_limits<double>::min());
    }

    const Trace<float>& trace_;
    const std::vector<PartWorth>& parts_;
    const KnockOutQuestion& question_;
    const bool ends_at_place_;
    RowMajor<float> changed_, added_;
};

}  // namespace

bool edits_behind_layers(const Trace<float>& trace) {
    const auto& nodes = trace.plan->nodes();
    const std::vector<Edit>& edits = trace.settings.edits;
    return std::any_of(edits.begin(), edits.end(), [&](const Edit& edit) {
        return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(trace.plan->end_of_layers()), nodes.end(),
                           [&](const PlanNode& node) { return node.id == edit.at; });
    });
}

bool knocks_out_in_rows(const Trace<float>& trace) {
    if (trace.whole() || rows_at_a_time(trace.config, trace.tokens.length).maps >= trace.tokens.length) return false;
    return can_compute_in_rows(trace) && !edits_behind_layers(trace);
}

std::vector<PartWorth> replaced_parts(const Trace<float>& trace, const KnockOutQuestion& question) {
    std::vector<PartWorth> parts = question.parts == ReplacedParts::Heads ? heads_of(trace) : stages_of(trace, question);
    place_in_grid(parts, question.parts);
    return parts;
}

std::vector<Edit> replacement_of(const Trace<float>& trace, const PartWorth& part, const KnockOutQuestion& question) {
    Edit edit;
    edit.at = part.stage;
    if (!question.patch) {
        edit.kind = EditKind::Scale;
        if (question.parts == ReplacedParts::Heads) edit.head = part.index;
        return {edit};
    }
    edit.kind = EditKind::TakeRow;
    edit.sequence = question.patch->into;
    edit.from_sequence = question.patch->from;
    edit.from = Edit::kAll;
    if (at_positions(question.parts)) edit.row = part.index;
    if (question.parts == ReplacedParts::Heads) edit.head = part.index;
    const TokenBatch& tokens = trace.tokens_of(part.stage.stack);
    const std::int64_t shared = shared_length(tokens, *question.patch);
    if (at_positions(question.parts) || shared == tokens.length) return {edit};
    std::vector<Edit> rows;
    for (edit.row = 0; edit.row < shared; ++edit.row) rows.push_back(edit);
    return rows;
}

std::vector<std::size_t> PartChanges::order() const {
    std::vector<std::size_t> order(squares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto size = [&](std::size_t i) { return std::isnan(squares[i]) ? std::numeric_limits<double>::infinity() : squares[i]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    return order;
}

PartChanges changes_of(const Trace<float>& trace, const std::vector<PartWorth>& parts, const KnockOutQuestion& question,
                       const std::stop_token& stop) {
    Changes changes(trace, parts, question);
    if (knocks_out_in_rows(trace)) {
        show_layers_in_rows<float>(
            trace, [&](const StageRows<float>& shown) { changes.see(shown.id, shown.value); }, stop);
        return std::move(changes.found);
    }
    Tap<float> tap(false, stop);
    tap.observe([&](const StageId& id, const Tensor<float>& value, const Mask*) { changes.see(id, value); });
    ModelPass<float> pass(*trace.parameters, Keep::OneLayer);
    pass.forward(trace.tokens, trace.source_tokens, trace.settings, tap);
    return std::move(changes.found);
}

}  // namespace attn

#include "engine/model/knock_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "engine/model/logit_lens.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/ops/linear.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

void require_place(const Trace<float>& trace, const KnockOutQuestion::Place& place) {
    if (place.sequence < 0 || place.sequence >= trace.tokens.size()) throw Error("there is no text " + std::to_string(place.sequence));
    if (place.position < 0 || place.position >= trace.tokens.length) throw Error("there is no position " + std::to_string(place.position));
    if (place.token < 0 || place.token >= trace.config.vocab_size) throw Error("there is no token " + std::to_string(place.token));
}

/// softmax(row)[token], in double.
double probability(const float* logits, std::int64_t vocabulary, std::int32_t token) {
    const RowVector<double> row = RowVector<float>::Map(logits, vocabulary).cast<double>();
    if (row.hasNaN()) return std::numeric_limits<double>::quiet_NaN();
    const double largest = row.maxCoeff();
    return std::exp(row[token] - largest) / (row.array() - largest).exp().sum();
}

double probability(const Tensor<float>& logits, const KnockOutQuestion::Place& place) {
    const std::int64_t vocabulary = logits.shape()[2].size, length = logits.shape()[1].size;
    return probability(logits.data() + (place.sequence * length + place.position) * vocabulary, vocabulary, place.token);
}

double loss_of(const Tensor<float>& logits, std::span<const std::int32_t> targets) {
    const std::int64_t vocabulary = logits.shape()[2].size;
    std::vector<RowLoss> losses(targets.size());
    return cross_entropy<float>(logits.data(), targets, vocabulary, losses, nullptr, count_targets(targets, vocabulary)).loss;
}

bool edits_behind_layers(const Trace<float>& trace) {
    const auto& nodes = trace.plan->nodes();
    const std::vector<Edit>& edits = trace.settings.edits;
    return std::any_of(edits.begin(), edits.end(), [&](const Edit& edit) {
        return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(trace.plan->end_of_layers()), nodes.end(),
                           [&](const PlanNode& node) { return node.id == edit.at; });
    });
}

/// The answer for a text of which only an outline is in memory.
double answer_of(const Trace<float>& outline, const KnockOutQuestion& question, const std::vector<std::int32_t>& targets) {
    const StageId stream = outline.plan->streams(Stack::Main).back();
    const std::int64_t vocabulary = outline.config.vocab_size, counted = count_targets(targets, vocabulary);
    double answer = 0;
    if (question.place) {
        const auto read = [&](std::int64_t, const Tensor<float>& logits) {
            answer = probability(logits.data(), vocabulary, question.place->token);
        };
        show_logits(outline, stream, question.place->position, 1, read);
        return answer;
    }
    if (counted == 0) return 0;
    std::vector<RowLoss> losses;
    show_logits(outline, stream, 0, outline.tokens.length, [&](std::int64_t first, const Tensor<float>& logits) {
        const std::span<const std::int32_t> wanted =
            std::span(targets).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(logits.shape()[1].size));
        losses.resize(wanted.size());
        answer += cross_entropy<float>(logits.data(), wanted, vocabulary, losses, nullptr, counted).loss;
    });
    return answer;
}

std::vector<PartWorth> heads_of(const Trace<float>& trace) {
    std::vector<PartWorth> heads;
    for (const PlanNode& node : trace.plan->nodes()) {
        if (node.op != Op::Mix) continue;
        for (std::int64_t head = 0; head < trace.config.num_heads; ++head) heads.push_back({node.id, head});
    }
    return heads;
}

/// The length that both texts of a patch have, or that of all texts.
std::int64_t shared_length(const TokenBatch& tokens, const KnockOutQuestion& question) {
    if (!question.place) return tokens.length;
    return std::min(tokens.lengths[static_cast<std::size_t>(question.place->sequence)],
                    tokens.lengths[static_cast<std::size_t>(*question.from)]);
}

/// The stream that enters each layer, at every position that both texts have.
std::vector<PartWorth> positions_of(const Trace<float>& trace, const KnockOutQuestion& question) {
    std::vector<PartWorth> positions;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder}) {
        const std::vector<StageId> streams = trace.plan->streams(stack);
        if (streams.empty()) continue;
        const std::int64_t length = shared_length(stack == Stack::Encoder ? trace.source_tokens : trace.tokens, question);
        for (std::size_t layer = 0; layer + 1 < streams.size(); ++layer)
            for (std::int64_t position = 0; position < length; ++position) positions.push_back({streams[layer], position});
    }
    return positions;
}

/// Sum of squares of what replacing each part changes in the stream, over all positions of the replaced texts. For a head, its context
/// times its rows of W_O.
class Changes {
public:
    Changes(const Trace<float>& trace, const std::vector<PartWorth>& parts, const KnockOutQuestion& question)
        : trace_(trace), parts_(parts), question_(question), squares_(parts.size()) {}

    /// `value` may be the whole stage or some of its positions.
    void see(const StageId& id, const Tensor<float>& value) {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (parts_[i].stage != id) continue;
            squares_[i] +=
                question_.parts == ReplacedParts::Heads ? of_head(value, id, parts_[i].index) : of_position(value, parts_[i].index);
        }
    }
    /// Whether the part's numbers are replaced by themselves, as those of an earlier word that both texts have in common.
    bool is_same(std::size_t part) const { return question_.from && squares_[part] == 0; }
    /// Indices of the parts, largest sum first; NaN counts as infinite.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> order(squares_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto size = [&](std::size_t i) { return std::isnan(squares_[i]) ? std::numeric_limits<double>::infinity() : squares_[i]; };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
        return order;
    }

private:
    bool is_replaced(std::int64_t text) const {
        if (!question_.from) return true;
        return question_.place ? text == question_.place->sequence : text != *question_.from;
    }
    double of_head(const Tensor<float>& context, const StageId& id, std::int64_t head) {
        const Shape& shape = context.shape();
        const std::int64_t heads = shape[1].size, rows = shape[2].size, width = shape[3].size;
        const StageId out = of_same_attention(id, Stage::AttentionOut);
        const PlanNode* node = trace_.plan->find(out);
        const MatrixView matrix = node == nullptr ? MatrixView{} : trace_.parameters->view(node->weight.name);
        double squares = 0;
        for (std::int64_t b = 0; b < shape[0].size; ++b) {
            if (!is_replaced(b)) continue;
            changed_ = matrix_of(context, b * heads + head);
            if (question_.from) changed_ -= matrix_of(context, *question_.from * heads + head);
            if (matrix) {
                added_.resize(rows, matrix.columns);
                linear<float>(changed_.data(), rows, matrix.rows_from(head * width, width), nullptr, added_.data());
            }
            squares += (matrix ? added_ : changed_).cast<double>().squaredNorm();
        }
        return squares;
    }
    double of_position(const Tensor<float>& stream, std::int64_t position) const {
        double squares = 0;
        for (std::int64_t b = 0; b < stream.shape()[0].size; ++b)
            if (is_replaced(b))
                squares +=
                    (matrix_of(stream, b).row(position) - matrix_of(stream, *question_.from).row(position)).cast<double>().squaredNorm();
        return squares;
    }

    const Trace<float>& trace_;
    const std::vector<PartWorth>& parts_;
    const KnockOutQuestion& question_;
    std::vector<double> squares_;
    RowMajor<float> changed_, added_;
};

/// What every replacement changes. A pass of its own, because a pass with an observer computes stages one by one, which may round
/// differently.
Changes changes_of(const Trace<float>& trace, const std::vector<PartWorth>& parts, const KnockOutQuestion& question,
                   const std::stop_token& stop) {
    Changes changes(trace, parts, question);
    if (knocks_out_in_rows(trace)) {
        show_layers_in_rows<float>(
            trace, [&](const StageRows<float>& shown) { changes.see(shown.id, shown.value); }, stop);
        return changes;
    }
    Tap<float> tap(false, stop);
    tap.observe([&](const StageId& id, const Tensor<float>& value, const Mask*) { changes.see(id, value); });
    ModelPass<float> pass(*trace.parameters, Keep::OneLayer);
    pass.forward(trace.tokens, trace.source_tokens, trace.settings, tap);
    return changes;
}

/// The edit that replaces a part.
Edit replacement_of(const PartWorth& part, const KnockOutQuestion& question) {
    Edit edit;
    edit.at = part.stage;
    edit.kind = question.from ? EditKind::TakeRow : EditKind::Scale;
    edit.from = Edit::kAll;
    if (question.from) edit.from_sequence = *question.from;
    if (question.from && question.place) edit.sequence = question.place->sequence;
    (question.parts == ReplacedParts::Heads ? edit.head : edit.row) = part.index;
    return edit;
}

/// Whether the place comes before the part, so that the part cannot change its prediction.
bool is_behind(const Trace<float>& trace, const PartWorth& part, const KnockOutQuestion& question) {
    return question.parts == ReplacedParts::Positions && question.place && part.index > question.place->position &&
           prefix_stays(trace.config, trace.settings);
}

void require_question(const Trace<float>& trace, const KnockOutQuestion& question) {
    if (!trace.config.lm_head) throw ConfigError("a model without an output head predicts nothing that a head could change");
    if (question.place) require_place(trace, *question.place);
    if (!question.from) {
        if (question.parts == ReplacedParts::Positions) throw ConfigError("positions can only be replaced by those of another text");
        return;
    }
    if (*question.from < 0 || *question.from >= trace.tokens.size()) throw Error("there is no text " + std::to_string(*question.from));
    if (trace.tokens.size() == 1 || (question.place && question.place->sequence == *question.from))
        throw ConfigError("a text cannot be replaced by itself");
}

}  // namespace

std::vector<std::int32_t> next_tokens(const TokenBatch& tokens) {
    std::vector<std::int32_t> targets(tokens.ids.size(), kIgnoredTarget);
    for (std::int64_t b = 0; b < tokens.size(); ++b)
        for (std::int64_t t = 0; t + 1 < tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const auto at = static_cast<std::size_t>(b * tokens.length + t);
            targets[at] = tokens.ids[at + 1];
        }
    return targets;
}

std::vector<std::int32_t> shown_targets(const Config& config, const TokenBatch& tokens) {
    if (config.architecture != Architecture::Encoder) return next_tokens(tokens);
    std::vector<std::int32_t> targets(tokens.ids.size(), kIgnoredTarget);
    for (std::int64_t b = 0; b < tokens.size(); ++b)
        std::copy_n(tokens.ids.begin() + b * tokens.length, tokens.lengths[static_cast<std::size_t>(b)],
                    targets.begin() + b * tokens.length);
    return targets;
}

bool knocks_out_in_rows(const Trace<float>& trace) {
    if (trace.whole() || rows_at_a_time(trace.config, trace.tokens.length).maps >= trace.tokens.length) return false;
    return can_compute_in_rows(trace) && !edits_behind_layers(trace);
}

KnockOut knock_out(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each, std::stop_token stop) {
    require_question(trace, question);
    std::vector<std::int32_t> targets = shown_targets(trace.config, trace.tokens);
    if (!question.counted.empty() && question.counted.size() != targets.size())
        throw Error("which positions count is given for " + std::to_string(question.counted.size()) + " positions, but there are " +
                    std::to_string(targets.size()));
    for (std::size_t at = 0; at < question.counted.size(); ++at)
        if (question.counted[at] == 0) targets[at] = kIgnoredTarget;
    std::vector<Edit> edits = trace.settings.edits;
    // Non-owning: the caller keeps the trace alive.
    Recomputation<float> again(std::shared_ptr<const Trace<float>>(std::shared_ptr<void>(), &trace), Keep::OneLayer);
    const bool in_rows = knocks_out_in_rows(trace);
    std::optional<Recomputation<float>::Row> row;
    if (question.place && !edits_behind_layers(trace)) row = {question.place->sequence, question.place->position};
    const auto measure = [&] {
        if (in_rows) return answer_of(again.with_edits(edits, stop), question, targets);
        const Tensor<float>& logits = again.logits_with(edits, row, stop);
        if (row) return probability(logits.data(), trace.config.vocab_size, question.place->token);
        return question.place ? probability(logits, *question.place) : loss_of(logits, targets);
    };
    KnockOut out;
    out.parts = question.parts == ReplacedParts::Heads ? heads_of(trace) : positions_of(trace, question);
    out.with_all = measure();
    each(out, 0);
    edits.emplace_back();  // last, so that no other edit restores the part
    std::size_t done = 0;
    const Changes changes = changes_of(trace, out.parts, question, stop);
    for (const std::size_t i : changes.order()) {
        PartWorth& part = out.parts[i];
        edits.back() = replacement_of(part, question);
        part.without = changes.is_same(i) || is_behind(trace, part, question) ? out.with_all : measure();
        part.measured = true;
        each(out, ++done);
    }
    return out;
}

}  // namespace attn

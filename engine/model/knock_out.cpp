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

std::vector<HeadWorth> heads_of(const Trace<float>& trace) {
    std::vector<HeadWorth> heads;
    for (const PlanNode& node : trace.plan->nodes()) {
        if (node.op != Op::Mix) continue;
        for (std::int64_t head = 0; head < trace.config.num_heads; ++head) heads.push_back({node.id, head});
    }
    return heads;
}

/// Sum of squares of what every head adds to the stream: its context times its rows of W_O, over all positions.
class Additions {
public:
    Additions(const Trace<float>& trace, const std::vector<HeadWorth>& heads) : trace_(trace), heads_(heads), squares_(heads.size()) {}

    /// `context` may be the whole stage or some of its positions.
    void see(const StageId& id, const Tensor<float>& context) {
        for (std::size_t i = 0; i < heads_.size(); ++i)
            if (heads_[i].context == id) squares_[i] += of_head(context, id, heads_[i].head);
    }
    /// Indices of the heads, largest sum first; NaN counts as infinite.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> order(squares_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto size = [&](std::size_t i) { return std::isnan(squares_[i]) ? std::numeric_limits<double>::infinity() : squares_[i]; };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
        return order;
    }

private:
    double of_head(const Tensor<float>& context, const StageId& id, std::int64_t head) {
        const Shape& shape = context.shape();
        const std::int64_t batches = shape[0].size, heads = shape[1].size, rows = shape[2].size, width = shape[3].size;
        const StageId out = of_same_attention(id, Stage::AttentionOut);
        const PlanNode* node = trace_.plan->find(out);
        const MatrixView matrix = node == nullptr ? MatrixView{} : trace_.parameters->view(node->weight.name);
        double squares = 0;
        for (std::int64_t b = 0; b < batches; ++b) {
            const auto own = matrix_of(context, b * heads + head);
            added_ = own;
            if (matrix) {
                added_.resize(rows, matrix.columns);
                linear<float>(own.data(), rows, matrix.rows_from(head * width, width), nullptr, added_.data());
            }
            squares += added_.cast<double>().squaredNorm();
        }
        return squares;
    }

    const Trace<float>& trace_;
    const std::vector<HeadWorth>& heads_;
    std::vector<double> squares_;
    RowMajor<float> added_;
};

/// The heads, the one that adds most first. A pass of its own, because a pass with an observer computes stages one by one, which may round
/// differently.
std::vector<std::size_t> likeliest_first(const Trace<float>& trace, const std::vector<HeadWorth>& heads, const std::stop_token& stop) {
    Additions additions(trace, heads);
    const auto see = [&](const StageId& id, const Tensor<float>& value) {
        if (to_self(id.stage) == Stage::Context) additions.see(id, value);
    };
    if (knocks_out_in_rows(trace)) {
        show_layers_in_rows<float>(
            trace, [&](const StageRows<float>& shown) { see(shown.id, shown.value); }, stop);
        return additions.order();
    }
    Tap<float> tap(false, stop);
    tap.observe([&](const StageId& id, const Tensor<float>& value, const Mask*) { see(id, value); });
    ModelPass<float> pass(*trace.parameters, Keep::OneLayer);
    pass.forward(trace.tokens, trace.source_tokens, trace.settings, tap);
    return additions.order();
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
    const auto& nodes = trace.plan->nodes();
    const auto behind_layers = [&](const Edit& edit) {
        return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(trace.plan->end_of_layers()), nodes.end(),
                           [&](const PlanNode& node) { return node.id == edit.at; });
    };
    const std::vector<Edit>& edits = trace.settings.edits;
    return can_compute_in_rows(trace) && std::none_of(edits.begin(), edits.end(), behind_layers);
}

KnockOut knock_out_heads(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each, std::stop_token stop) {
    if (!trace.config.lm_head) throw ConfigError("a model without an output head predicts nothing that a head could change");
    if (question.place) require_place(trace, *question.place);
    std::vector<std::int32_t> targets = shown_targets(trace.config, trace.tokens);
    if (!question.counted.empty() && question.counted.size() != targets.size())
        throw Error("which positions count is given for " + std::to_string(question.counted.size()) + " positions, but there are " +
                    std::to_string(targets.size()));
    for (std::size_t at = 0; at < question.counted.size(); ++at)
        if (question.counted[at] == 0) targets[at] = kIgnoredTarget;
    ModelPass<float> pass(*trace.parameters, Keep::OneLayer);
    Tap<float> tap(false, stop);
    ForwardSettings settings = trace.settings;
    // Non-owning: the caller keeps the trace alive.
    Recomputation<float> again(std::shared_ptr<const Trace<float>>(std::shared_ptr<void>(), &trace), Keep::OneLayer);
    const bool in_rows = knocks_out_in_rows(trace);
    const auto measure = [&] {
        if (in_rows) return answer_of(again.with_edits(settings.edits, stop), question, targets);
        pass.forward(trace.tokens, trace.source_tokens, settings, tap);
        return question.place ? probability(pass.logits(), *question.place) : pass.loss(targets).loss;
    };
    KnockOut out;
    out.heads = heads_of(trace);
    out.with_all = measure();
    each(out, 0);
    Edit removal;
    removal.kind = EditKind::Scale;
    settings.edits.push_back(removal);  // last, so that no other edit restores the head
    std::size_t done = 0;
    for (const std::size_t i : likeliest_first(trace, out.heads, stop)) {
        settings.edits.back().at = out.heads[i].context;
        settings.edits.back().head = out.heads[i].head;
        out.heads[i].without = measure();
        out.heads[i].measured = true;
        each(out, ++done);
    }
    return out;
}

}  // namespace attn

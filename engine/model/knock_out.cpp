#include "engine/model/knock_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "engine/model/logit_lens.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/replaced_parts.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

void require_place(const Trace<float>& trace, const KnockOutQuestion::Place& place) {
    if (place.sequence < 0 || place.sequence >= trace.tokens.size()) throw Error("there is no text " + std::to_string(place.sequence));
    if (place.position < 0 || place.position >= trace.tokens.length) throw Error("there is no position " + std::to_string(place.position));
    for (const std::int32_t token : {place.token, place.against.value_or(place.token)})
        if (token < 0 || token >= trace.config.vocab_size) throw Error("there is no token " + std::to_string(token));
}

/// softmax(row)[token], in double.
double probability(const float* logits, std::int64_t vocabulary, std::int32_t token) {
    const RowVector<double> row = RowVector<float>::Map(logits, vocabulary).cast<double>();
    if (row.hasNaN()) return std::numeric_limits<double>::quiet_NaN();
    const double largest = row.maxCoeff();
    return std::exp(row[token] - largest) / (row.array() - largest).exp().sum();
}

/// What is asked about a place, given the logits there.
double answer_at(const float* logits, std::int64_t vocabulary, const KnockOutQuestion::Place& place) {
    if (!place.against) return probability(logits, vocabulary, place.token);
    return static_cast<double>(logits[place.token]) - static_cast<double>(logits[*place.against]);
}

double answer_in(const Tensor<float>& logits, const KnockOutQuestion::Place& place) {
    const std::int64_t vocabulary = logits.shape()[2].size, length = logits.shape()[1].size;
    return answer_at(logits.data() + (place.sequence * length + place.position) * vocabulary, vocabulary, place);
}

double loss_of(const Tensor<float>& logits, std::span<const std::int32_t> targets) {
    const std::int64_t vocabulary = logits.shape()[2].size;
    std::vector<RowLoss> losses(targets.size());
    return cross_entropy<float>(logits.data(), targets, vocabulary, losses, nullptr, count_targets(targets, vocabulary)).loss;
}

/// The answer for a text of which only an outline is in memory.
double answer_of(const Trace<float>& outline, const KnockOutQuestion& question, const std::vector<std::int32_t>& targets) {
    const StageId stream = outline.plan->streams(Stack::Main).back();
    const std::int64_t vocabulary = outline.config.vocab_size, counted = count_targets(targets, vocabulary);
    double answer = 0;
    if (question.place) {
        const auto read = [&](std::int64_t, const Tensor<float>& logits) {
            answer = answer_at(logits.data(), vocabulary, *question.place);
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

void require_question(const Trace<float>& trace, const KnockOutQuestion& question) {
    if (!trace.config.lm_head) throw ConfigError("a model without an output head predicts nothing that could change");
    if (question.place) require_place(trace, *question.place);
    if (question.text && (*question.text < 0 || *question.text >= trace.tokens.size()))
        throw Error("there is no text " + std::to_string(*question.text));
    if (!question.patch) {
        if (at_positions(question.parts)) throw ConfigError("positions can only be replaced by those of another text");
        return;
    }
    for (const std::int64_t text : {question.patch->from, question.patch->into})
        if (text < 0 || text >= trace.tokens.size()) throw Error("there is no text " + std::to_string(text));
    if (question.patch->from == question.patch->into) throw ConfigError("a text cannot be replaced by itself");
    if (question.place && question.place->sequence != question.patch->into)
        throw ConfigError("the place asked about is not in the text whose numbers are replaced");
}

/// The targets that count.
std::vector<std::int32_t> targets_of(const Trace<float>& trace, const KnockOutQuestion& question) {
    std::vector<std::int32_t> targets = shown_targets(trace.config, trace.tokens);
    if (!question.counted.empty() && question.counted.size() != targets.size())
        throw Error("which positions count is given for " + std::to_string(question.counted.size()) + " positions, but there are " +
                    std::to_string(targets.size()));
    const std::optional<std::int64_t> only = question.patch ? question.patch->into : question.text;
    for (std::size_t at = 0; at < targets.size(); ++at) {
        const bool of_other_text = only && static_cast<std::int64_t>(at) / trace.tokens.length != *only;
        if (of_other_text || (!question.counted.empty() && question.counted[at] == 0)) targets[at] = kIgnoredTarget;
    }
    return targets;
}

WorthGrid empty_grid(const std::vector<PartWorth>& parts) {
    WorthGrid grid;
    if (parts.empty()) return grid;
    grid.rows = parts.back().row + 1;
    for (const PartWorth& part : parts) grid.columns = std::max(grid.columns, part.column + 1);
    const auto cells = static_cast<std::size_t>(grid.rows * grid.columns);
    grid.parts.assign(cells, WorthGrid::kNoPart);
    grid.changes.resize(cells);
    grid.measured.resize(cells);
    for (std::size_t i = 0; i < parts.size(); ++i)
        grid.parts[static_cast<std::size_t>(parts[i].row * grid.columns + parts[i].column)] = static_cast<std::int64_t>(i);
    return grid;
}

double size_of_change(const KnockOut& result, const PartWorth& part) {
    const double size = std::abs(result.change(part));
    return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

/// Adds a measured part to the grid and to the order.
void add_measured(KnockOut& out, std::size_t i) {
    PartWorth& part = out.parts[i];
    part.measured = true;
    const auto cell = static_cast<std::size_t>(part.row * out.grid.columns + part.column);
    const auto change = static_cast<float>(out.change(part));
    out.grid.changes[cell] = change;
    out.grid.measured[cell] = 1;
    if (std::isfinite(change)) out.grid.reach = std::max(out.grid.reach, std::abs(change));
    const auto stronger = [&](std::size_t a, std::size_t b) {
        const double x = size_of_change(out, out.parts[a]), y = size_of_change(out, out.parts[b]);
        return x > y || (x == y && a < b);
    };
    out.strongest.insert(std::upper_bound(out.strongest.begin(), out.strongest.end(), i, stronger), i);
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

KnockOut knock_out(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each, std::stop_token stop) {
    require_question(trace, question);
    const std::vector<std::int32_t> targets = targets_of(trace, question);
    std::vector<Edit> edits = trace.settings.edits;
    // Non-owning: the caller keeps the trace alive.
    Recomputation<float> again(std::shared_ptr<const Trace<float>>(std::shared_ptr<void>(), &trace), Keep::OneLayer);
    const bool in_rows = knocks_out_in_rows(trace), row_by_row = !edits_behind_layers(trace);
    const auto measure_at = [&](const KnockOutQuestion::Place& place) {
        if (!row_by_row) return answer_in(again.logits_with(edits, {}, stop), place);
        return answer_at(again.logits_with(edits, {{place.sequence, place.position}}, stop).data(), trace.config.vocab_size, place);
    };
    const auto measure = [&] {
        if (in_rows) return answer_of(again.with_edits(edits, stop), question, targets);
        return question.place ? measure_at(*question.place) : loss_of(again.logits_with(edits, {}, stop), targets);
    };
    KnockOut out;
    out.parts = replaced_parts(trace, question);
    out.grid = empty_grid(out.parts);
    out.with_all = measure();
    if (question.patch && question.place && question.place->position < trace.tokens.lengths[static_cast<std::size_t>(question.patch->from)])
        out.in_other_text = measure_at({question.patch->from, question.place->position, question.place->token, question.place->against});
    each(out, 0);
    const std::size_t own_edits = edits.size();
    std::size_t done = 0;
    const PartChanges changes = changes_of(trace, out.parts, question, stop);
    for (const std::size_t i : changes.order()) {
        PartWorth& part = out.parts[i];
        part.without = out.with_all;
        if (!question.patch || changes.squares[i] != 0) {
            edits.resize(own_edits);
            for (Edit& edit : replacement_of(trace, part, question)) edits.push_back(edit);  // last, so that no other restores the part
            part.without = measure();
        }
        add_measured(out, i);
        each(out, ++done);
    }
    return out;
}

}  // namespace attn

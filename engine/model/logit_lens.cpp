#include "engine/model/logit_lens.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/model/part_pass.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

Stack predicting_stack(const Config& config) { return config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main; }

using LensRow = RowVector<float>::ConstMapType;

/// The likeliest tokens, and the rank of the token that follows.
LensCell read_row(const LensRow& logits, const LensRow& probabilities, std::int32_t next) {
    const std::int64_t vocab = logits.size();
    LensCell cell;
    cell.next = next;
    if (logits.hasNaN()) return cell;
    cell.count = static_cast<int>(std::min<std::int64_t>(kLensPredictions, vocab));
    std::array<std::int32_t, kLensPredictions> best{};
    int found = 0;
    for (std::int32_t id = 0; id < vocab; ++id) {
        if (found == cell.count && !(logits[id] > logits[best[static_cast<std::size_t>(found - 1)]])) continue;
        // Insertion sort from the end; equal logits keep their order.
        int place = found < cell.count ? found++ : found - 1;
        for (; place > 0 && logits[id] > logits[best[static_cast<std::size_t>(place - 1)]]; --place)
            best[static_cast<std::size_t>(place)] = best[static_cast<std::size_t>(place - 1)];
        best[static_cast<std::size_t>(place)] = id;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(cell.count); ++i) cell.top[i] = {best[i], probabilities[best[i]]};
    if (next < 0) return cell;
    cell.next_probability = probabilities[next];
    cell.next_rank = 1 + (logits.array() > logits[next]).count();
    return cell;
}

/// The next token; of an encoder, which reads from both sides, the token itself.
std::int32_t predicted_token(const Trace<float>& trace, std::int64_t b, std::int64_t t) {
    const TokenBatch& tokens = trace.tokens;
    const std::int64_t at = trace.config.architecture == Architecture::Encoder ? t : t + 1;
    return at < tokens.lengths[static_cast<std::size_t>(b)] ? tokens.ids[static_cast<std::size_t>(b * tokens.length + at)] : -1;
}

/// Memory for the logits and probabilities of the rows computed at a time.
constexpr std::int64_t kRowsBytes = 16 << 20;

std::int64_t rows_at_a_time(std::int64_t vocab) {
    return std::max<std::int64_t>(16, kRowsBytes / std::max<std::int64_t>(1, 3 * vocab * std::int64_t{sizeof(float)}));
}

template <class Scalar>
const Tensor<Scalar>& require_stream(const Trace<Scalar>& trace, const StageId& stream) {
    const Config& config = trace.config;
    if (!config.lm_head) throw ConfigError("a model without an output head predicts nothing in any layer");
    const RecordedStage<Scalar>* stage = trace.find(stream);
    if (stage == nullptr) throw Error("the trace has no " + tensor_name(stream));
    const Shape& shape = stage->value.shape();
    if (shape.rank() != 3 || shape[2].size != config.d_model)
        throw ShapeError(tensor_name(stream) + " " + shape.text() + " is not a residual stream of d_model " +
                         std::to_string(config.d_model));
    return stage->value;
}

/// The output head on its own.
template <class Scalar>
class HeadPass {
public:
    explicit HeadPass(const Trace<Scalar>& trace)
        : pass_(*trace.parameters, without_edits(trace.settings)), last_(pass_.plan().streams(predicting_stack(trace.config)).back()) {}
    /// [B,T,C] -> [B,T,V], valid until the next call.
    const Tensor<Scalar>& logits(Tensor<Scalar> stream) {
        pass_.give(last_, std::move(stream));
        pass_.forward_after(last_);
        return pass_.value(pass_.plan().logits());
    }

private:
    /// Edits in the head apply to the last layer's stream only.
    static ForwardSettings without_edits(ForwardSettings settings) {
        settings.edits.clear();
        return settings;
    }
    PartPass<Scalar> pass_;
    StageId last_;
};

/// Calls each(first, logits) for rows [first, first + count) of a stream, some at a time.
template <class Each>
void show_rows(HeadPass<float>& head, const Tensor<float>& stream, std::int64_t vocab, std::int64_t first, std::int64_t count,
               const Each& each) {
    const std::int64_t width = stream.shape()[2].size;
    for (const std::int64_t end = first + count; first < end; first += rows_at_a_time(vocab)) {
        const std::int64_t some = std::min(rows_at_a_time(vocab), end - first);
        Tensor<float> part({{Axis::B, 1}, {Axis::T, some}, {Axis::C, width}});
        std::copy_n(stream.data() + first * width, some * width, part.data());
        each(first, head.logits(std::move(part)));
    }
}

}  // namespace

std::vector<StageId> lens_stages(const Config& config) { return Plan(config).streams(predicting_stack(config)); }

template <class Scalar>
Tensor<Scalar> lens_logits(const Trace<Scalar>& trace, const StageId& stream) {
    return HeadPass<Scalar>(trace).logits(require_stream(trace, stream));
}

void show_logits(const Trace<float>& trace, const StageId& stream, std::int64_t first, std::int64_t count,
                 const std::function<void(std::int64_t first, const Tensor<float>& logits)>& each) {
    const Tensor<float>& value = require_stream(trace, stream);
    HeadPass<float> head(trace);
    show_rows(head, value, trace.config.vocab_size, first, count, each);
}

LogitLens logit_lens(const Trace<float>& trace, const std::stop_token& stop, const LensProgress& each) {
    LogitLens lens;
    lens.stages = lens_stages(trace.config);
    lens.batches = trace.tokens.size();
    lens.positions = trace.tokens.length;
    const std::int64_t rows = lens.batches * lens.positions, vocab = trace.config.vocab_size;
    lens.cells.resize(lens.stages.size() * static_cast<std::size_t>(rows));
    lens.known.resize(lens.stages.size());
    require_stream(trace, lens.stages.back());
    HeadPass<float> head(trace);
    Tensor<float> probabilities;
    for (std::size_t stage = lens.stages.size(); stage-- > 0;) {
        const Tensor<float>& stream = require_stream(trace, lens.stages[stage]);
        LensCell* cells = lens.cells.data() + stage * static_cast<std::size_t>(rows);
        show_rows(head, stream, vocab, 0, rows, [&](std::int64_t first, const Tensor<float>& logits) {
            if (stop.stop_requested()) throw Cancelled();
            const std::int64_t some = logits.shape()[1].size;
            probabilities.resize(logits.shape());
            softmax(logits.data(), some, vocab, probabilities.data());
            parallel_for(some, vocab, [&](std::int64_t row) {
                const std::int64_t at = first + row;
                const std::int32_t next = predicted_token(trace, at / lens.positions, at % lens.positions);
                cells[at] = read_row(LensRow(logits.data() + row * vocab, vocab), LensRow(probabilities.data() + row * vocab, vocab), next);
            });
        });
        lens.known[stage] = 1;
        if (each) each(lens);
    }
    return lens;
}

template Tensor<float> lens_logits<float>(const Trace<float>&, const StageId&);
template Tensor<double> lens_logits<double>(const Trace<double>&, const StageId&);

}  // namespace attn

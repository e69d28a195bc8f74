#include <algorithm>

#include "engine/attention/position.hpp"
#include "engine/model/steps/steps.hpp"
#include "engine/ops/column_sums.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/embedding.hpp"

namespace attn {
namespace {

/// Sizes of the token batch that a stack reads, and of its stream.
struct StreamSizes {
    std::int64_t batches, positions, width;
    Shape stream() const { return {{Axis::B, batches}, {Axis::T, positions}, {Axis::C, width}}; }
    std::int64_t sequence() const { return positions * width; }
};

template <class Scalar>
StreamSizes stream_sizes(const Program<Scalar>& program, std::size_t place) {
    const TokenBatch& tokens = program.tokens(place);
    return {tokens.size(), tokens.length, program.config().d_model};
}

template <class Scalar>
void tokens_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const TokenBatch& tokens = program.tokens(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize({{Axis::B, tokens.size()}, {Axis::T, tokens.length}});
    std::transform(tokens.ids.begin(), tokens.ids.end(), out.data(), [](std::int32_t id) { return static_cast<Scalar>(id); });
}

/// Multiplies the embedding's vectors, or their gradient, by its factor.
template <class Scalar>
void scale(const Program<Scalar>& program, std::size_t place, Tensor<Scalar>& vectors) {
    const double factor = program.node(place).plan->settings.factor;
    if (factor == 1) return;
    for (Scalar& number : vectors.values()) number *= static_cast<Scalar>(factor);
}

template <class Scalar>
void embed_into(Program<Scalar>& program, std::size_t place, Tensor<Scalar>& out) {
    const TokenBatch& tokens = program.tokens(place);
    const Node<Scalar>& node = program.node(place);
    out.resize({{Axis::B, tokens.size()}, {Axis::T, tokens.length}, {node.plan->axes.back(), node.weight.columns}});
    embed<Scalar>(tokens.ids, node.weight, out.data());
    scale(program, place, out);
}

template <class Scalar>
void embed_step_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    embed_into(program, step.first, program.value(step.first));
}

template <class Scalar>
void embed_step_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (!program.has_gradient(step.first)) return;  // nothing reads it
    Tensor<Scalar>& gradient = program.gradient(step.first);
    scale(program, step.first, gradient);
    embed_backward<Scalar>(program.tokens(step.first).ids, gradient.data(), program.node(step.first).weight.columns,
                           program.dweight(step.first));
}

/// Position vectors of one sequence: rows of the table, or sines and cosines.
template <class Scalar>
void fill_positions(const Program<Scalar>& program, std::size_t place, const StreamSizes& sizes, Scalar* out) {
    const MatrixView& table = program.node(place).weight;
    const std::int64_t first = program.first_position();
    if (!table) return sinusoidal_positions(first, sizes.positions, sizes.width, out);
    copy_numbers(table.rows_from(first, sizes.positions), out);
}

template <class Scalar>
void positions_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const StreamSizes sizes = stream_sizes(program, step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(sizes.stream());
    for (std::int64_t b = 0; b < sizes.batches; ++b) fill_positions(program, step.first, sizes, out.data() + b * sizes.sequence());
}

template <class Scalar>
void add_to_table(Program<Scalar>& program, std::size_t positions, const Tensor<Scalar>& gradient) {
    const StreamSizes sizes = stream_sizes(program, positions);
    if (Scalar* table = program.dweight(positions)) add_column_sums(gradient.data(), sizes.batches, sizes.sequence(), table);
}

template <class Scalar>
void positions_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (!program.has_gradient(step.first)) return;  // nothing reads it
    add_to_table(program, step.first, program.gradient(step.first));
}

/// The segment of every position, [B,T].
template <class Scalar>
std::vector<std::int32_t> segments_of(const Program<Scalar>& program, std::size_t place) {
    const TokenBatch& tokens = program.tokens(place);
    return tokens.segments.empty() ? std::vector<std::int32_t>(tokens.ids.size()) : tokens.segments;
}

template <class Scalar>
void segments_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(stream_sizes(program, step.first).stream());
    embed<Scalar>(segments_of(program, step.first), program.node(step.first).weight, out.data());
}

template <class Scalar>
void segments_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (!program.has_gradient(step.first)) return;  // nothing reads it
    embed_backward<Scalar>(segments_of(program, step.first), program.gradient(step.first).data(), program.config().d_model,
                           program.dweight(step.first));
}

/// In fused form the two summands are not kept.
template <class Scalar>
void fused_embedding_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t embedding = step.first + 1, sum = step.last();
    const StreamSizes sizes = stream_sizes(program, sum);
    Tensor<Scalar>& out = program.value(sum);
    embed_into(program, embedding, out);
    for (const std::size_t input : program.node(sum).inputs) {
        if (input == embedding) continue;
        Tensor<Scalar>& positions = program.value(input);
        positions.resize({{Axis::T, sizes.positions}, {Axis::C, sizes.width}});
        fill_positions(program, input, sizes, positions.data());
        for (std::int64_t b = 0; b < sizes.batches; ++b) {
            Scalar* one = out.data() + b * sizes.sequence();
            add(one, positions.data(), sizes.sequence(), one);
        }
    }
    const DropoutPattern pattern = program.dropout(program.settings().dropout.embedding, program.node(sum).plan->dropout_site, out.shape());
    dropout(pattern, out.data(), out.size(), out.data());
}

template <class Scalar>
void fused_embedding_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t embedding = step.first + 1, sum = step.last();
    Tensor<Scalar>& gradient = program.gradient(sum);
    const DropoutPattern pattern =
        program.dropout(program.settings().dropout.embedding, program.node(sum).plan->dropout_site, gradient.shape());
    dropout(pattern, gradient.data(), gradient.size(), gradient.data());
    for (const std::size_t input : program.node(sum).inputs)
        if (input != embedding) add_to_table(program, input, gradient);
    scale(program, embedding, gradient);
    embed_backward<Scalar>(program.tokens(embedding).ids, gradient.data(), program.config().d_model, program.dweight(embedding));
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> tokens_step() {
    return {&tokens_forward<Scalar>, nullptr};
}
template <class Scalar>
StepFunctions<Scalar> embed_step() {
    return {&embed_step_forward<Scalar>, &embed_step_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> positions_step() {
    return {&positions_forward<Scalar>, &positions_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> segments_step() {
    return {&segments_forward<Scalar>, &segments_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> fused_embedding_step() {
    return {&fused_embedding_forward<Scalar>, &fused_embedding_backward<Scalar>};
}

template StepFunctions<float> tokens_step();
template StepFunctions<double> tokens_step();
template StepFunctions<float> embed_step();
template StepFunctions<double> embed_step();
template StepFunctions<float> positions_step();
template StepFunctions<double> positions_step();
template StepFunctions<float> segments_step();
template StepFunctions<double> segments_step();
template StepFunctions<float> fused_embedding_step();
template StepFunctions<double> fused_embedding_step();

}  // namespace attn

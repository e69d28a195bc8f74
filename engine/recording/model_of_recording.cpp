#include "engine/recording/model_of_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/model/transformer.hpp"
#include "engine/recording/model_parts.hpp"
#include "engine/recording/recompute.hpp"
#include "engine/recording/seen_cells.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn::recording {
namespace {

/// A parameter that the code lacks: a bias of zeros, or the gain of a norm without one.
FoundMatrix usual_parameter(const std::string& name, const ParameterPlace& place) {
    const double number = name.ends_with(".bias") ? 0 : 1;
    return {place.rows(), place.columns, std::vector<double>(static_cast<std::size_t>(place.shape().count()), number)};
}

template <class Scalar>
std::shared_ptr<const Parameters<Scalar>> parameters_of(const ModelParts& parts) {
    auto parameters = std::make_shared<Parameters<Scalar>>(parts.config);
    const Plan plan(parts.config);
    for (const PlanNode& node : plan.nodes())
        for (const std::string& name : {node.weight.name, node.bias.name}) {
            if (name.empty()) continue;
            const ParameterPlace place = parameters->layout().place(name);
            const auto found = parts.parameters.find(name);
            const FoundMatrix matrix = found == parts.parameters.end() ? usual_parameter(name, place) : found->second;
            if (matrix.rows != place.rows() || matrix.columns != place.columns)
                throw Error(fmt::format("{} is {} by {} numbers, where a model of ours has {} by {}", name, matrix.rows, matrix.columns,
                                        place.rows(), place.columns));
            for (std::int64_t row = 0; row < matrix.rows; ++row)
                for (std::int64_t column = 0; column < matrix.columns; ++column)
                    parameters->data()[place.offset() + row * place.stride() + column] =
                        static_cast<Scalar>(matrix.values[static_cast<std::size_t>(row * matrix.columns + column)]);
        }
    return parameters;
}

/// The farthest number of a stage.
struct Distance {
    double far = 0;       ///< from the recorded number, as a part of the stage's largest
    double excess = 0;    ///< in units of what rounding may do
    std::int64_t at = 0;  ///< where the excess is greatest
};

/// Runs the model twice and compares it with what was recorded.
class Proof {
public:
    Proof(const RecordedGraph& graph, const RecordedStep& step, const FindParameter& parameter, const ModelParts& parts,
          const std::shared_ptr<const Parameters<float>>& parameters, const std::stop_token& stop)
        : graph_(graph), step_(step), parameter_(parameter), lengths_(parts.tokens.lengths),
          exact_(pass(parameters_of<double>(parts), parts, stop)), rounded_(pass(parameters, parts, stop)) {
        for (const StagePair& pair : parts.stages)
            if (const NamedArray* header = step.find(pair.name())) eps_ = std::max(eps_, eps_of(header->dtype));
    }

    /// Adds a stage; throws Error if it differs.
    void compare(const StagePair& pair, RecordedModel& result) const {
        const attn::RecordedStage<double>* ours = exact_.find(pair.ours);
        if (ours == nullptr || step_.find(pair.name()) == nullptr) return;
        const StageNumbers theirs =
            unedited_stage(graph_, pair.attention == nullptr ? nobody_ : *pair.attention, *pair.stage, step_, parameter_);
        if (!theirs.numbers) throw Error(fmt::format("{} cannot be compared: {}", escaped(pair.name(), 0), theirs.why));
        const Tensor<double> exact = part_of(ours->value, pair);
        const Tensor<float> rounded = part_of(rounded_.find(pair.ours)->value, pair);
        expect_same_shape(pair, *theirs.numbers, exact.shape());
        const Distance distance = distance_of(theirs.numbers->values, exact, rounded.values());
        if (distance.excess > 1) refuse(pair, *theirs.numbers, distance, exact);
        result.farthest = std::max(result.farthest, distance.far);
        ++result.compared;
    }

private:
    template <class Scalar>
    static Trace<Scalar> pass(std::shared_ptr<const Parameters<Scalar>> parameters, const ModelParts& parts, const std::stop_token& stop) {
        ForwardSettings settings;
        settings.masks.causal = parts.causal;
        return trace_forward<Scalar>(std::move(parameters), parts.tokens, parts.source, settings, stop);
    }

    /// Of a stage with heads, those that the recorded attention has.
    template <class Scalar>
    static Tensor<Scalar> part_of(const Tensor<Scalar>& whole, const StagePair& pair) {
        constexpr int kHeads = 1;
        const Shape& shape = whole.shape();
        if (!pair.first_head || shape.rank() != 4) return whole;
        const std::int64_t count = pair.attention->size('H'), head = shape[2].size * shape[3].size, all = shape[kHeads].size * head;
        Tensor<Scalar> part(shape.with_size(kHeads, count));
        for (std::int64_t text = 0; text < shape[0].size; ++text)
            std::copy_n(whole.data() + text * all + *pair.first_head * head, count * head, part.data() + text * count * head);
        return part;
    }

    /// A recorded axis that is missing, or of size 1, before the others holds for all.
    static void expect_same_shape(const StagePair& pair, const Numbers& theirs, const Shape& ours) {
        bool same = theirs.shape.size() <= static_cast<std::size_t>(ours.rank()), broadcast = false;
        for (std::size_t i = 0; same && i < theirs.shape.size(); ++i) {
            const std::int64_t size = theirs.shape[theirs.shape.size() - 1 - i], own = ours[ours.rank() - 1 - static_cast<int>(i)].size;
            same = size == own ? !broadcast : size == 1;
            broadcast = broadcast || size != own;
        }
        if (!same) throw Error(fmt::format("{} has another shape than in a model of ours", escaped(pair.name(), 0)));
    }

    /// Whether a number stands behind the end of a text, where PyTorch's encoder leaves zeros.
    bool is_left_out(const Shape& shape, std::size_t at) const {
        if (!leaves_padding_out_) return false;
        std::int64_t rest = static_cast<std::int64_t>(at), position = 0;
        for (int axis = shape.rank() - 1; axis > 0; --axis) {
            const std::int64_t size = shape[axis].size, place = rest % size;
            rest /= size;
            if (shape[axis].axis == Axis::T || shape[axis].axis == Axis::S) position = std::max(position, place);
        }
        return shape[0].axis == Axis::B && position >= lengths_[static_cast<std::size_t>(rest)];
    }

    Distance distance_of(std::span<const double> theirs, const Tensor<double>& exact, std::span<const float> in_float) const {
        const std::span<const double> ours = exact.values();
        double largest = 0, rounding = 0;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            if (!std::isfinite(ours[i])) continue;
            largest = std::max(largest, std::abs(ours[i]));
            rounding = std::max(rounding, std::abs(ours[i] - static_cast<double>(in_float[i])));
        }
        // Another order of the same operations rounds as much, but elsewhere: several times what was measured is allowed.
        constexpr double kOtherOrder = 8;
        const double allowed = kOtherOrder * (rounding * eps_ / std::numeric_limits<float>::epsilon() + eps_ * largest);
        Distance distance;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            const double number = theirs[i % theirs.size()];
            const bool both_hidden = !std::isfinite(ours[i]) && number < kHidden;
            if (both_hidden || is_same(number, ours[i]) || is_left_out(exact.shape(), i)) continue;
            const double gap = std::abs(number - ours[i]);
            const double excess = std::isfinite(gap) && allowed > 0 ? gap / allowed : std::numeric_limits<double>::infinity();
            if (std::isfinite(gap) && largest > 0) distance.far = std::max(distance.far, gap / largest);
            if (excess <= distance.excess) continue;
            distance.excess = excess;
            distance.at = static_cast<std::int64_t>(i);
        }
        return distance;
    }

    [[noreturn]] void refuse(const StagePair& pair, const Numbers& theirs, const Distance& distance, const Tensor<double>& ours) const {
        const Shape& shape = ours.shape();
        std::vector<std::int64_t> cell(static_cast<std::size_t>(shape.rank()));
        std::int64_t rest = distance.at;
        for (std::size_t axis = cell.size(); axis-- > 0;) {
            const std::int64_t size = shape[static_cast<int>(axis)].size;
            cell[axis] = rest % size;
            rest /= size;
        }
        const auto at = static_cast<std::size_t>(distance.at);
        const bool in_training = std::any_of(graph_.attentions.begin(), graph_.attentions.end(),
                                             [](const RecordedAttention& each) { return each.training == std::optional(true); });
        throw Error(fmt::format("the model that the graph describes differs at {}[{}]: {:.6g} recorded, {:.6g} computed{}",
                                escaped(pair.name(), 0), fmt::join(cell, ","), theirs.values[at % theirs.values.size()], ours.values()[at],
                                in_training ? "; if the code drops numbers at random, record after model.eval()" : ""));
    }

    const RecordedAttention nobody_;
    const RecordedGraph& graph_;
    const RecordedStep& step_;
    const FindParameter& parameter_;
    const std::vector<std::int64_t> lengths_;
    const bool leaves_padding_out_ =
        std::any_of(graph_.around.begin(), graph_.around.end(), [](const RecordedStage& each) { return each.padded; });
    Trace<double> exact_;
    Trace<float> rounded_;
    double eps_ = 0;  ///< of the coarsest type in the recording
};

/// The words that were recorded with a text, by their ids. Empty if an id would have several.
std::vector<std::string> words_by_id(const std::vector<std::vector<std::string>>& rows, const TokenBatch& tokens, std::int64_t ids) {
    std::vector<std::string> words(static_cast<std::size_t>(ids));
    for (std::int64_t text = 0; text < tokens.size(); ++text) {
        const std::size_t row = rows.size() == 1 ? 0 : static_cast<std::size_t>(text);
        if (row >= rows.size() || static_cast<std::int64_t>(rows[row].size()) != tokens.length) return {};
        for (std::int64_t at = 0; at < tokens.length; ++at) {
            const auto id = static_cast<std::size_t>(tokens.ids[static_cast<std::size_t>(text * tokens.length + at)]);
            const std::string& word = rows[row][static_cast<std::size_t>(at)];
            if (word.empty() || (!words[id].empty() && words[id] != word)) return {};
            words[id] = word;
        }
    }
    return words;
}

std::vector<std::string> words_of(const Recording& recording, const ModelParts& parts) {
    const std::int64_t ids = parts.config.vocab_size;
    if (parts.source.ids.empty()) return words_by_id(recording.tokens, parts.tokens, ids);
    if (recording.tokens.empty() || recording.source_tokens.empty()) return {};
    // Both texts have ids of their own, but where they share a vector.
    std::vector<std::string> words = words_by_id(recording.tokens, parts.tokens, ids);
    const std::vector<std::string> of_source = words_by_id(recording.source_tokens, parts.source, ids);
    if (words.empty() || of_source.empty()) return {};
    for (std::size_t id = 0; id < words.size(); ++id) {
        if (!words[id].empty() && !of_source[id].empty() && words[id] != of_source[id]) return {};
        if (words[id].empty()) words[id] = of_source[id];
    }
    return words;
}

}  // namespace

std::string RecordedModel::proof() const {
    const std::int64_t most = config.architecture == Architecture::EncoderDecoder ? config.most_layers() : config.num_layers;
    const std::string layers = most == 1 ? "" : fmt::format(" of layers 0 to {}", most - 1);
    return fmt::format("All {} stages{} equal the recording within {:.1g} of each stage's largest number.{}", compared, layers, farthest,
                       !without_head ? ""
                       : of_vectors  ? " The output head was left out: the words of this model are the vectors that the layers were given."
                                     : " What follows the layers was left out: it is no output head of ours.");
}

RecordedModel model_of_recording(const Recording& recording, std::optional<std::int64_t> step, const std::stop_token& stop) {
    if (!recording.has_graph) throw Error("nothing tells how the stages were computed: record the code with attnscope.py");
    const StepFile& file = step_file(recording, step);
    const RecordedStep opened(file);
    if (opened.graph() >= recording.graphs.size())
        throw FileError(FileFault::Schema, opened.source(), "",
                        fmt::format("refers to graph {}, which recording.json does not have", opened.graph()));
    if (!opened.is_complete()) throw Error("an error ended this step: what came after it is missing");
    const RecordedGraph& graph = recording.graphs[opened.graph()];
    const FindParameter parameter = parameters_as_of(recording, file);
    const ModelParts parts = find_model_parts(graph, opened, parameter);
    validate(parts.config);
    if (parts.tokens.size() * parts.config.num_heads * parts.tokens.length * parts.tokens.length > kMostNumbers)
        throw Error("the maps are too large to be compared: record a shorter text");
    RecordedModel result{parts.config, parameters_of<float>(parts), parts.tokens,     parts.source,
                         parts.causal, words_of(recording, parts),  parts.of_vectors, parts.without_head};
    const Proof proof(graph, opened, parameter, parts, result.parameters, stop);
    for (const StagePair& pair : parts.stages) proof.compare(pair, result);
    return result;
}

}  // namespace attn::recording

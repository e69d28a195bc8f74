#pragma once
/// What a model computes, as data: its stages in order of computation, each with operation, inputs, parameters, settings and axes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/buckets.hpp"
#include "engine/plan/config.hpp"
#include "engine/plan/mask_rule.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Every operation a model can consist of. Everything about an operation (code, explanation, equation, words) is looked up by this.
enum class Op : std::uint8_t {
    Tokens,         ///< the ids themselves
    Embed,          ///< rows of a table by id, times a factor
    Positions,      ///< rows of a learned table by position, or sines and cosines
    Segments,       ///< rows of a learned table by the token's segment
    Add,            ///< sum of the inputs, with dropout
    Norm,           ///< layer norm or RMS norm of every row, every head's row, or the rows of all heads together
    Linear,         ///< x W + b; split into heads if the result has an axis H or G
    Rotate,         ///< RoPE
    Scores,         ///< Q K^T
    Scale,          ///< times a factor, usually 1 / sqrt(d_head)
    Cap,            ///< cap tanh(x / cap)
    Bias,           ///< ALiBi (minus distance times the head's slope) or T5's learned bias per bucket of distances
    Mask,           ///< -inf where attention is not allowed, plus the mask's bias
    Softmax,        ///< over the keys
    Dropout,        ///< of the attention weights
    Mix,            ///< weights V
    JoinHeads,      ///< heads side by side
    Activate,       ///< ReLU, GELU or SiLU
    Multiply,       ///< product of the inputs, element-wise
    Probabilities,  ///< softmax over the vocabulary
    Given,          ///< recorded in other code, whose operation is none of these or is not known: only its result is

    // What a mistake made on purpose puts in the place of one of the above; nothing else may follow (is_mistaken).
    PassOn,              ///< the input unchanged
    LinearByReshape,     ///< Linear into heads by a reshape without a transpose
    SoftmaxOverQueries,  ///< over the wrong axis
    SoftmaxThenMask,     ///< over all keys; masked cells become 0 afterwards
    DropoutLeftOn,       ///< of the attention weights, at kDropoutLeftOn where no rate is set
    JoinByReshape,       ///< JoinHeads by a reshape without a transpose
};

/// Whether only a mistake made on purpose puts the operation into a plan.
constexpr bool is_mistaken(Op op) { return op >= Op::PassOn; }
/// Whether the operation's result is a map that knows which of its cells may attend.
bool knows_mask(Op op);

/// A parameter as an operation uses it.
struct PlanParameter {
    std::string name;         ///< "layers.0.attention.q.weight", wherever the model stores it (ParameterLayout::place); empty: none
    bool transposed = false;  ///< used transposed: the tied output head

    bool empty() const { return name.empty(); }
    bool operator==(const PlanParameter&) const = default;
};

/// Settings of an operation; each operation reads its own. In a correct plan they follow from the configuration.
struct OpSettings {
    NormKind norm_kind = NormKind::LayerNorm;      ///< Norm
    double eps = 0;                                ///< Norm
    Activation activation = Activation::GeluTanh;  ///< Activate
    bool all_heads = false;                        ///< Norm of queries or keys: over all heads' numbers together
    double factor = 1;                             ///< Scale, Embed; ALiBi: what the usual slopes were multiplied by
    double cap = 1;                                ///< Cap
    RotaryRule rotary{};                           ///< Rotate
    std::vector<double> slopes{};                  ///< Bias: ALiBi slope of each head; empty: T5's buckets
    BucketRule buckets{};                          ///< Bias with T5's buckets
    std::int64_t window = 0;                       ///< Scores to Mix: sliding window, |t - s| < window; 0: all keys
    MaskRule mask_rule = MaskRule::Right;          ///< Mask: which cells may attend
    bool operator==(const OpSettings&) const = default;
};

/// Where recorded code computes a stage.
struct CodePlace {
    std::string name{};    ///< of the stage there, if it is Stage::Other; safe to display
    std::string called{};  ///< the operation, as the recording names it: "linear"
    std::string line{};    ///< "model.py:41"; "" if unknown

    /// "linear, model.py:41"
    std::string text() const { return line.empty() ? called : called + ", " + line; }
    bool operator==(const CodePlace&) const = default;
};

struct PlanNode {
    StageId id;
    Op op = Op::Tokens;
    std::vector<StageId> inputs;  ///< in the operation's order: queries, keys; stream, sublayer
    PlanParameter weight;         ///< matrix, table or gain
    PlanParameter bias;           ///< bias or shift
    std::vector<Axis> axes;       ///< of the result
    OpSettings settings;
    /// Add and Dropout: the stage whose dropout pattern is used. For a residual it is the sublayer's last linear map, even if the model
    /// does not have that stage.
    StageId dropout_site;
    CodePlace origin{};  ///< in code that somebody else wrote; empty in our models

    bool has_heads() const;  ///< whether the result has an axis H or G
    bool operator==(const PlanNode&) const = default;
};

/// A run of nodes between two states of a stack's residual stream: everything before its layers, one layer, or everything after them.
struct PlanPart {
    std::size_t first = 0, end = 0;  ///< indices of nodes
    std::optional<StageId> stream;   ///< the state it starts from; none if it starts from the tokens
};

/// The computation of a configuration, correct or with a mistake made on purpose; a plain value.
class Plan {
public:
    /// An empty plan.
    Plan() = default;
    /// Throws ConfigError like validate().
    explicit Plan(const Config& config, Mistake mistake = Mistake::None);
    /// Of code that somebody else wrote: it has these nodes, and no residual stream that is known.
    explicit Plan(std::vector<PlanNode> nodes) : nodes_(std::move(nodes)) {}

    const std::vector<PlanNode>& nodes() const { return nodes_; }
    /// Its name in the code that was recorded, if it is Stage::Other; otherwise as stage_name().
    std::string name_of(const StageId& id) const;
    /// nullptr if the model has no such stage.
    const PlanNode* find(const StageId& id) const;
    /// Throws Error naming the stage if the model does not have it.
    const PlanNode& at(const StageId& id) const;
    /// Whether the model has both stages and computes `a` first.
    bool before(const StageId& a, const StageId& b) const;
    /// The states of a stack's residual stream: on entering the first layer, and after each layer.
    std::vector<StageId> streams(Stack stack) const;
    /// The part that contains a stage. Throws Error naming the stage if the model does not have it.
    PlanPart part_around(const StageId& id) const;
    /// Number of nodes up to and including the end of the last layer.
    std::size_t end_of_layers() const;
    /// The input of the probabilities' softmax. Throws Error for a model without an output head.
    const StageId& logits() const;

    /// Whether the stage is one of streams().
    bool is_stream(const StageId& id) const;

private:
    friend class PlanBuilder;
    std::vector<PlanNode> nodes_;
    std::vector<StageId> streams_;
};

}  // namespace attn

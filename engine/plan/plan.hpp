#pragma once
/// What a model computes, as data: its stages in the order of computation, each with its operation, inputs, parameters, settings and axes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/buckets.hpp"
#include "engine/plan/config.hpp"
#include "engine/plan/mask_rule.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Everything that is ever computed. What belongs to an operation (its code, explanation, equation, words) is found by this.
enum class Op : std::uint8_t {
    Tokens,         ///< the ids themselves
    Embed,          ///< row id of a table, times a factor
    Positions,      ///< row t of a learned table, or sines and cosines
    Segments,       ///< row of a learned table: that of the part of the text which the token belongs to
    Add,            ///< sum of the inputs, with dropout
    Norm,           ///< of every row, of every head's row, or of those of all heads together
    Linear,         ///< x W + b; cut into heads where the result has an axis H or G
    Rotate,         ///< every row of a head turned by its position, as its rotary rule says
    Scores,         ///< Q K^T
    Scale,          ///< times a factor: 1 / sqrt(d_head)
    Cap,            ///< cap tanh(x / cap)
    Bias,           ///< minus the distance of query and key times the head's slope, or plus what a table holds for the distance
    Mask,           ///< -inf where attention is not allowed, plus the bias
    Softmax,        ///< over the keys
    Dropout,        ///< of the weights
    Mix,            ///< weights V
    JoinHeads,      ///< heads side by side
    Activate,       ///< ReLU, GELU or SiLU
    Multiply,       ///< product of the inputs, number by number
    Probabilities,  ///< softmax over the vocabulary
};

/// A parameter as one operation uses it.
struct PlanParameter {
    std::string name;         ///< "layers.0.attention.q.weight", wherever a model keeps it (ParameterLayout::place); empty: none
    bool transposed = false;  ///< used as its transpose: the tied output head

    bool empty() const { return name.empty(); }
    bool operator==(const PlanParameter&) const = default;
};

/// How an operation does what it does. Each reads its own; those of a right model follow from the configuration.
struct OpSettings {
    NormKind norm_kind = NormKind::LayerNorm;      ///< Norm
    double eps = 0;                                ///< Norm
    bool passes_on = false;                        ///< Norm: the result is the input (a mistake)
    Activation activation = Activation::GeluTanh;  ///< Activate
    bool all_heads = false;                        ///< Norm of queries or keys: of the numbers of all heads together
    double factor = 1;                             ///< Scale, Embed
    double cap = 1;                                ///< Cap
    RotaryRule rotary{};                           ///< Rotate
    std::vector<double> slopes{};                  ///< Bias: of each head; empty: there is a table
    BucketRule buckets{};                          ///< Bias by a table
    std::int64_t window = 0;                       ///< Scores to Mix: keys that a query sees, on either side; 0: all
    bool by_reshape = false;                       ///< Linear into heads, JoinHeads: numbers keep their order instead (a mistake)
    MaskRule mask_rule = MaskRule::Right;          ///< Mask and Softmax: which cells are masked
    bool masks_late = false;                       ///< Mask: nothing yet; Softmax: masked cells become 0 afterwards (a mistake)
    bool over_queries = false;                     ///< Softmax (a mistake)
    double least_rate = 0;                         ///< Dropout: the rate where none is set (a mistake)
    bool operator==(const OpSettings&) const = default;
};

struct PlanNode {
    StageId id;
    Op op = Op::Tokens;
    std::vector<StageId> inputs;  ///< in the order in which the operation names them: queries, keys; stream, sublayer
    PlanParameter weight;         ///< matrix, table or gain
    PlanParameter bias;           ///< bias or shift
    std::vector<Axis> axes;       ///< of the result
    OpSettings settings;
    /// Add and Dropout: the stage whose dropout pattern applies. A residual's is that of its sublayer, which is named for its last linear
    /// map whether the model has that or not.
    StageId dropout_site;

    bool has_heads() const;  ///< the result has an axis H or G
};

/// Consecutive nodes between two states of a stack's residual stream: what comes before the layers, a layer, or what comes after them.
struct PlanPart {
    std::size_t first = 0, end = 0;  ///< places among the nodes
    std::optional<StageId> stream;   ///< what it begins with; none: the tokens
};

/// The computation of one configuration, right or with a mistake made on purpose; a plain value.
class Plan {
public:
    /// No stages.
    Plan() = default;
    /// Throws ConfigError as validate() does.
    explicit Plan(const Config& config, Mistake mistake = Mistake::None);

    const std::vector<PlanNode>& nodes() const { return nodes_; }
    /// nullptr when the model has no such stage.
    const PlanNode* find(const StageId& id) const;
    /// Throws Error naming the stage when the model does not have it.
    const PlanNode& at(const StageId& id) const;
    /// The residual stream of a stack: as it enters the first layer, and after each.
    std::vector<StageId> streams(Stack stack) const;
    /// The part that a stage belongs to. Throws Error naming the stage when the model does not have it.
    PlanPart part_around(const StageId& id) const;
    /// How many nodes there are up to the end of the last layer.
    std::size_t end_of_layers() const;
    /// What the probabilities are the softmax of. Throws Error for a model without a head.
    const StageId& logits() const;

    /// One of the streams.
    bool is_stream(const StageId& id) const;

private:
    friend class PlanBuilder;
    std::vector<PlanNode> nodes_;
    std::vector<StageId> streams_;
};

}  // namespace attn

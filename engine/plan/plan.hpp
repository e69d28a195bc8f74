#pragma once
/// What a model computes, as data: its stages in the order of computation, each with its operation, inputs, parameters and axes.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Everything that is ever computed. What belongs to an operation (its code, explanation, equation, words) is found by this.
enum class Op : std::uint8_t {
    Tokens,         ///< the ids themselves
    Embed,          ///< row id of a table
    Positions,      ///< row t of a learned table, or sines and cosines
    Add,            ///< sum of the inputs, with dropout
    Norm,           ///< layer norm
    Linear,         ///< x W + b; cut into heads where the result has an axis H
    Scores,         ///< Q K^T
    Scale,          ///< divided by sqrt(d_head)
    Mask,           ///< -inf where attention is not allowed, plus the bias
    Softmax,        ///< over the keys
    Dropout,        ///< of the weights
    Mix,            ///< weights V
    JoinHeads,      ///< heads side by side
    Activate,       ///< ReLU or GELU
    Probabilities,  ///< softmax over the vocabulary
};

/// A parameter, or some of its columns, as one operation uses it.
struct PlanParameter {
    std::string name;               ///< in the ParameterLayout; empty: the operation has none
    std::int64_t first_column = 0;  ///< where several matrices lie side by side in one
    std::int64_t columns = 0;       ///< of this one; 0: all
    bool transposed = false;        ///< used as its transpose: the tied output head

    bool empty() const { return name.empty(); }
    bool operator==(const PlanParameter&) const = default;
};

struct PlanNode {
    StageId id;
    Op op = Op::Tokens;
    std::vector<StageId> inputs;  ///< in the order in which the operation names them: queries, keys; stream, sublayer
    PlanParameter weight;         ///< matrix, table or gain
    PlanParameter bias;           ///< bias or shift
    std::vector<Axis> axes;       ///< of the result
    /// Add and Dropout: the stage whose dropout pattern applies. A residual's is that of its sublayer, which is named for its last linear
    /// map whether the model has that or not.
    StageId dropout_site;

    bool has_heads() const;  ///< the result has an axis H
};

/// The computation of one configuration; a plain value.
class Plan {
public:
    /// No stages.
    Plan() = default;
    /// Throws ConfigError as validate() does.
    explicit Plan(const Config& config);

    const std::vector<PlanNode>& nodes() const { return nodes_; }
    /// nullptr when the model has no such stage.
    const PlanNode* find(const StageId& id) const;
    /// Throws Error naming the stage when the model does not have it.
    const PlanNode& at(const StageId& id) const;
    /// The residual stream of a stack: as it enters the first layer, and after each.
    std::vector<StageId> streams(Stack stack) const;

private:
    friend class PlanBuilder;
    std::vector<PlanNode> nodes_;
    std::vector<StageId> streams_;
};

}  // namespace attn

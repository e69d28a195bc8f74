#pragma once
/// Reads single cells of a trace of either precision as doubles, with the label each one carries in a formula.

#include <array>
#include <string>

#include "engine/explain/provenance.hpp"

namespace attn {

/// An edit that set a cell.
struct CellEdit {
    const Edit* edit;
    double frozen = 0;  ///< Freeze: the pattern's number there
};

/// Names, shapes and values behind explain(); throws Error for a cell that the trace does not have.
class TraceCells {
public:
    using Index = std::array<std::int64_t, 4>;

    TraceCells(const Config& config, const Plan& plan, const ForwardSettings& settings, const ParameterLayout& layout,
               const TokenBatch& tokens, const TokenBatch& source)
        : config_(config), plan_(plan), settings_(settings), layout_(layout), tokens_(tokens), source_(source) {}
    virtual ~TraceCells() = default;
    TraceCells(const TraceCells&) = delete;
    TraceCells& operator=(const TraceCells&) = delete;

    const Config& config() const { return config_; }
    /// Of what is explained: with a mistake made on purpose, or as it would be right.
    const Plan& plan() const { return plan_; }
    const ForwardSettings& settings() const { return settings_; }
    /// What the stack reads.
    const TokenBatch& tokens(Stack stack) const { return stack == Stack::Encoder ? source_ : tokens_; }

    bool has(const StageId& id) const { return find(id) != nullptr; }
    const Shape& shape(const StageId& id) const;
    ParameterPlace place(const std::string& name) const;
    double value(const CellRef& cell) const;
    /// True for a cell of masked, weights or dropped that may not be attended.
    bool masked(const StageId& id, const Index& index) const;
    /// The additive bias at a cell of masked; 0 without one.
    double bias(const StageId& id, const Index& index) const;
    /// What dropout multiplies a cell of a tensor of this shape with at `site`: 0 or 1/(1 - rate).
    double dropout_factor(const StageId& site, const Shape& shape, const Index& index, double rate) const;

    /// The edits that set the cell, in their order.
    std::vector<CellEdit> edits_of(const StageId& id, const Index& index) const;

    Operand operand(const StageId& id, const Index& index) const;
    Operand operand(const CellRef& cell) const;
    /// A parameter's cell under the symbol it has in formulas: "W_Q[3,0]", "γ[2]".
    Operand parameter(const std::string& name, const Index& index) const;

protected:
    /// nullptr when the stage was not recorded.
    virtual const Shape* find(const StageId& id) const = 0;
    virtual double stage_value(const StageId& id, std::int64_t flat) const = 0;
    virtual double parameter_value(const ParameterInfo& whole, std::int64_t flat) const = 0;
    virtual const Mask* mask(const StageId& id) const = 0;
    /// Of a map of which some rows alone are there.
    virtual bool masked_in_rows(const StageId& id, const Index& index) const = 0;

private:
    Mask mask_of_row(const StageId& id, const Index& index) const;

    const Config& config_;
    const Plan& plan_;
    const ForwardSettings& settings_;
    const ParameterLayout& layout_;
    const TokenBatch& tokens_;
    const TokenBatch& source_;
};

/// Row-major place of the index; throws Error naming `what` when the index lies outside.
std::int64_t flat_index(const Shape& shape, const TraceCells::Index& index, const std::string& what);

/// "q[6,0]": the last two indices, which are the row and the column of the matrix on screen.
std::string cell_label(const std::string& symbol, const Shape& shape, const TraceCells::Index& index);

}  // namespace attn

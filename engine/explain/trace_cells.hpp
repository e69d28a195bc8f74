#pragma once
/// Reads single cells of a trace, in either precision, as doubles, with their labels for formulas.

#include <array>
#include <string>

#include "engine/explain/provenance.hpp"
#include "engine/plan/name_beside.hpp"

namespace attn {

/// An edit that affects a cell.
struct CellEdit {
    const Edit* edit;
    double frozen = 0;  ///< Freeze: the pattern's weight at the cell
};

/// Names, shapes and values for explain(); throws Error for a cell that the trace does not have.
class TraceCells {
public:
    using Index = std::array<std::int64_t, 4>;

    TraceCells(const Config& config, const Plan& plan, const ForwardSettings& settings, const ParameterLayout* layout,
               const TokenBatch& tokens, const TokenBatch& source, const StageId& here)
        : config_(config), plan_(plan), settings_(settings), layout_(layout), tokens_(tokens), source_(source), here_(here) {}
    virtual ~TraceCells() = default;
    TraceCells(const TraceCells&) = delete;
    TraceCells& operator=(const TraceCells&) = delete;

    const Config& config() const { return config_; }
    /// The plan to explain: with the trace's mistake, or the correct one.
    const Plan& plan() const { return plan_; }
    const ForwardSettings& settings() const { return settings_; }
    /// The tokens that the stack reads.
    const TokenBatch& tokens(Stack stack) const { return stack == Stack::Encoder ? source_ : tokens_; }

    /// A stage's name beside the one that is looked at.
    std::string name(const StageId& id) const { return name_beside(id, here_); }
    bool has(const StageId& id) const { return find(id) != nullptr; }
    const Shape& shape(const StageId& id) const;
    ParameterPlace place(const std::string& name) const;
    double value(const CellRef& cell) const;
    /// True for a cell of masked, weights or dropped that may not be attended to.
    bool masked(const StageId& id, const Index& index) const;
    /// The additive bias at a cell of masked; 0 if there is none.
    double bias(const StageId& id, const Index& index) const;
    /// Dropout's factor at a cell of a tensor of this shape: 0 or 1/(1 - rate).
    double dropout_factor(const StageId& site, const Shape& shape, const Index& index, double rate) const;

    /// The edits that affect the cell, in order.
    std::vector<CellEdit> edits_of(const StageId& id, const Index& index) const;

    Operand operand(const StageId& id, const Index& index) const;
    Operand operand(const CellRef& cell) const;
    /// A parameter's cell by its symbol in formulas: "W_Q[3,0]", "γ[2]".
    Operand parameter(const std::string& name, const Index& index) const;

protected:
    /// nullptr if the stage was not recorded.
    virtual const Shape* find(const StageId& id) const = 0;
    virtual double stage_value(const StageId& id, std::int64_t flat) const = 0;
    virtual double parameter_value(const ParameterInfo& whole, std::int64_t flat) const = 0;
    virtual const Mask* mask(const StageId& id) const = 0;
    /// Whether the cell is masked, for a map of which only some rows are available.
    virtual bool masked_in_rows(const StageId& id, const Index& index) const = 0;

private:
    Mask mask_of_row(const StageId& id, const Index& index) const;

    const Config& config_;
    const Plan& plan_;
    const ForwardSettings& settings_;
    const ParameterLayout* layout_;  ///< null in a recording
    const TokenBatch& tokens_;
    const TokenBatch& source_;
    const StageId here_;
};

/// Row-major index; throws Error naming `what` if `index` is out of range.
std::int64_t flat_index(const Shape& shape, const TraceCells::Index& index, const std::string& what);

/// "q[6,0]": the last two indices, row and column of the matrix on screen.
std::string cell_label(const std::string& symbol, const Shape& shape, const TraceCells::Index& index);

}  // namespace attn

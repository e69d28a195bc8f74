#pragma once
/// A layer computed some positions at a time: what a long text takes is then little more than what somebody keeps of it. All bits are
/// those of a pass over all positions at once.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/model/program.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The rows of some positions of a stage, as they were computed.
template <class Scalar>
struct StageRows {
    const StageId& id;
    std::int64_t first = 0;       ///< position of the first row of `value`
    const Tensor<Scalar>& value;  ///< [1,rows,C], [1,H,rows,D] or [1,H,rows,S]
    const Mask* mask = nullptr;   ///< of these rows, where the stage has one
};
template <class Scalar>
using RowsObserver = std::function<void(const StageRows<Scalar>&)>;

/// Keys and values as attention reads them.
bool is_attended(const Plan& plan, const StageId& id);
/// Whether the layers of a pass can be computed so: one text, in a decoder-only model whose rotary positions do not depend on how many
/// there are, without dropout, biases of ranges of distances, rows that take another's numbers, and mistakes that mix positions.
bool can_compute_in_rows(const Plan& plan, const Config& config, const TokenBatch& tokens, const ForwardSettings& settings);

/// How many positions are computed at a time.
struct RowCounts {
    std::int64_t maps = 0;      ///< of the maps of all heads
    std::int64_t products = 0;  ///< of what comes before and behind them
};
/// So many that a map of all heads takes a few MiB, and that weights are not packed too often; `wanted` of both, unless it is 0.
RowCounts rows_at_a_time(const Config& config, std::int64_t positions, std::int64_t wanted = 0);

template <class Scalar>
class LayerInRows {
public:
    /// All of it has to outlive this. In outlined form (see Program) maps are not shown, and all positions attend at once.
    LayerInRows(const Plan& plan, const Weights& weights, const ForwardSettings& settings, const TokenBatch& tokens,
                std::stop_token stop = {}, Form form = Form::Staged);

    /// Every stage of a part that begins with a stream, some positions at a time: first those before the maps, which all read the keys and
    /// values of every position, then the maps, then what comes behind them. A part without maps is computed as if it were one. `stream` is
    /// [1,T,C].
    void show(const PlanPart& part, const Tensor<Scalar>& stream, const RowCounts& rows, const RowsObserver<Scalar>& each);
    /// What the maps and what comes after them read of what stands before them, of the first `count` positions: a tensor for each node
    /// there, empty where it is not read. Shows the same nodes.
    std::vector<Tensor<Scalar>> before_maps(const PlanPart& part, const Tensor<Scalar>& stream, std::int64_t count, const RowCounts& rows,
                                            const RowsObserver<Scalar>& each = {});
    /// The maps alone of the positions [first, first + count). What they read, queries and keys, is taken from `held` where that has it,
    /// else computed from `stream`.
    void show_maps(const PlanPart& part, const Tensor<Scalar>& stream, const Trace<Scalar>* held, std::int64_t first, std::int64_t count,
                   const RowCounts& rows, const RowsObserver<Scalar>& each);
    /// The part's first node that compares queries with keys; its end where there is none.
    std::size_t first_map(const PlanPart& part) const;

private:
    std::size_t end_of_maps(const PlanPart& part) const;
    void keep_rows(std::vector<Tensor<Scalar>>& kept, std::size_t first_place, const StageRows<Scalar>& shown, std::int64_t count) const;
    void give(const StageId& stream, const Tensor<Scalar>& whole, std::int64_t first, std::int64_t count);
    void forward(std::int64_t first, std::int64_t count, std::size_t begin, std::size_t end, const RowsObserver<Scalar>& each);
    void attend_at_once(const PlanPart& part, std::size_t maps, std::size_t behind, std::vector<Tensor<Scalar>>& kept,
                        const RowsObserver<Scalar>& each);
    bool reads(std::size_t first, std::size_t end, std::size_t place) const;

    const Plan& plan_;
    const ForwardSettings& settings_;
    const TokenBatch& tokens_;
    std::stop_token stop_;
    Program<Scalar> program_;
};

}  // namespace attn

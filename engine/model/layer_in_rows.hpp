#pragma once
/// A layer computed some positions at a time, so that a long text needs little memory beyond the stages that are kept. Bit-identical to
/// computing all positions at once; see can_compute_in_rows().

#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/model/program.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Some positions of a stage, as they are computed.
template <class Scalar>
struct StageRows {
    const StageId& id;
    std::int64_t first = 0;       ///< position of the value's first row
    const Tensor<Scalar>& value;  ///< [1,rows,C], [1,H,rows,D] or [1,H,rows,S]
    const Mask* mask = nullptr;   ///< of these rows, if the stage has one
};
template <class Scalar>
using RowsObserver = std::function<void(const StageRows<Scalar>&)>;

/// Whether a stage holds the keys or values that attention reads.
bool is_attended(const Plan& plan, const StageId& id);

/// How many positions are computed at a time.
struct RowCounts {
    std::int64_t maps = 0;      ///< in the attention maps of all heads
    std::int64_t products = 0;  ///< before and after the maps
};
/// Row counts for which a map of all heads takes a few MiB and weights are not packed too often; both are `wanted` unless that is 0.
RowCounts rows_at_a_time(const Config& config, std::int64_t positions, std::int64_t wanted = 0);

template <class Scalar>
class LayerInRows {
public:
    /// All arguments must outlive this. In outlined form (see Program) maps are not shown, and attention runs over all positions at once.
    LayerInRows(const Plan& plan, const Weights& weights, const ForwardSettings& settings, const TokenBatch& tokens,
                std::stop_token stop = {}, Form form = Form::Staged);

    /// From now on show() tells the share of the part that is done, from 0 to 1, from any thread that computes.
    void tell(std::function<void(double share)> progress) { progress_ = std::move(progress); }

    /// Computes and shows every stage of a part that begins with a stream [1,T,C]. First the stages before the maps, because the maps read
    /// every position's keys and values; then the maps; then the rest. A part without maps counts as being before them. Returns the stages
    /// that had to be kept for all positions: a tensor per node of the part, empty for the others; see is_kept().
    std::vector<Tensor<Scalar>> show(const PlanPart& part, const Tensor<Scalar>& stream, const RowCounts& rows,
                                     const RowsObserver<Scalar>& each);
    /// Computes and shows the stages before the maps for the first `count` positions. Returns what later nodes read of them: a tensor per
    /// node before the maps, empty for nodes that are not read later.
    std::vector<Tensor<Scalar>> before_maps(const PlanPart& part, const Tensor<Scalar>& stream, std::int64_t count, const RowCounts& rows,
                                            const RowsObserver<Scalar>& each = {});
    /// Shows only the maps, of positions [first, first + count). The queries and keys they read are taken from `held` if they are there,
    /// else computed from `stream`.
    void show_maps(const PlanPart& part, const Tensor<Scalar>& stream, const Trace<Scalar>* held, std::int64_t first, std::int64_t count,
                   const RowCounts& rows, const RowsObserver<Scalar>& each);
    /// Whether show() keeps a stage, except in outlined form.
    bool is_kept(const PlanPart& part, const StageId& id) const;
    /// Index of the part's first node that compares queries with keys; the part's end if there is none.
    std::size_t first_map(const PlanPart& part) const;

private:
    std::size_t end_of_maps(const PlanPart& part) const;
    void keep_rows(std::vector<Tensor<Scalar>>& kept, std::size_t first_place, const StageRows<Scalar>& shown, std::int64_t count) const;
    void give(const StageId& stream, const Tensor<Scalar>& whole, std::int64_t first, std::int64_t count);
    void forward(std::int64_t first, std::int64_t count, std::size_t begin, std::size_t end, const RowsObserver<Scalar>& each);
    void attend_at_once(const PlanPart& part, std::size_t maps, std::size_t behind, std::vector<Tensor<Scalar>>& kept,
                        const RowsObserver<Scalar>& each);
    bool reads(std::size_t first, std::size_t end, std::size_t place) const;
    /// Operations per position of nodes [begin, end), about.
    double work(std::size_t begin, std::size_t end) const;
    void begin_telling(const PlanPart& part);
    void done(double work);

    const Plan& plan_;
    const ForwardSettings& settings_;
    const TokenBatch& tokens_;
    std::stop_token stop_;
    Program<Scalar> program_;
    std::function<void(double share)> progress_;
    double work_done_ = 0, work_in_all_ = 1;
};

}  // namespace attn

#pragma once
/// Answers questions for numbers. How they are held (whole, by parts of the model, in blocks, for one head) and where they are computed (at
/// once, or as a facet) is decided here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "app/session/numbers/matrix.hpp"
#include "app/session/numbers/number_store.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/results.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/strong_cells.hpp"
#include "app/session/values/totals_slice.hpp"
#include "engine/trace/edit.hpp"
#include "engine/trace/head_score.hpp"
#include "engine/trace/query_key.hpp"
#include "engine/trace/stage_range.hpp"

namespace attn::app {

/// What a window shows together, which decides in which form the attention maps of a long text are held.
struct Sight {
    bool all_layers = false;    ///< the maps of all layers
    bool every_number = false;  ///< for a range per row
    bool gradients = false;     ///< where they are shown, every number is needed, too
};

/// A map, or why there is none: it is being computed, or cannot be had. While it is computed its sizes may be known.
struct Found {
    Matrix map{};
    Reason missing{};  ///< empty if `map` has numbers
    /// Why it cannot be had; "" if it is there or will be.
    std::string problem() const { return missing.waits ? "" : missing.words; }
};

/// Why a facet has no value.
template <class F>
Reason reason_of(const Answer<F>& answer) {
    return answer.computing() ? Reason::waiting("Computing …") : Reason{answer.problem};
}

/// The part of a map that a picture shows, in cells, and how many cells share a pixel.
struct VisibleCells {
    std::int64_t first_row = 0, end_row = 0, first_col = 0, end_col = 0;
    double rows_per_pixel = 1, cols_per_pixel = 1;
};

/// A part of a parameter's matrix; a vector has a single row. Negative sizes: to the end.
struct ParameterPart {
    std::string name;
    Axis row_axis = Axis::N, col_axis = Axis::N;
    std::int64_t first_col = 0, cols = -1, first_row = 0, rows = -1;
};

/// Attention accumulated over the layers 0 to `layer`.
struct TotalsOf {
    Subject of;
    const AttentionTotals* totals = nullptr;  ///< of a reading
    std::uint64_t serial = 0;                 ///< of that reading
    std::size_t layer = 0;
    std::int64_t sequence = 0;
    bool rollout = false;  ///< else the mean
    /// Of a long text, where the numbers of single cells are not held.
    bool in_blocks() const { return totals->rollouts.empty(); }
    facet::TotalsSlice::Place place() const { return {totals->stack, layer, sequence}; }
};

/// What the loss gradients were taken of.
struct LossOfGradients {
    double loss = 0;           ///< mean cross-entropy over the counted targets
    std::int64_t counted = 0;  ///< 0: nothing to predict
};

struct CellNumber {
    float value = 0;
    bool masked = false;
};

class NumberDesk {
public:
    /// `shown`: the state that the window shows. All but the sight must outlive the desk, which is made anew for every frame.
    NumberDesk(Inquiry& inquiry, NumberStore& store, Subject shown, const Sight& sight)
        : inquiry_(inquiry), store_(store), shown_(std::move(shown)), sight_(sight) {}

    // The numbers of a stage.

    Found numbers(const NumbersOf& wanted) const;
    /// Asks for a stage before others: where memory is scarce, what is asked for first gets it.
    void ask_for(const Subject& of, const StageId& stage) const { held(of, stage); }
    /// Why a stage has no numbers (yet); empty if it has.
    Reason missing(const Subject& of, const StageId& stage) const;
    /// B - A, cell by cell. A map without numbers or problem if the sizes differ.
    Found difference(const Matrix& b, const Matrix& a) const;
    /// The loss gradients of the matrix's numbers in the same layout; empty if it has none (one-hot rows, differences, sums), or they are
    /// not there yet.
    Matrix gradient(const Matrix& matrix) const;
    std::optional<LossOfGradients> loss_of_gradients() const;

    // Finer numbers of a map in blocks; other maps are returned unchanged, and so is a map whose finer numbers are not there yet.

    Matrix with_row(Matrix matrix, std::int64_t row) const { return with_rows(std::move(matrix), row, row + 1); }
    Matrix with_rows(Matrix matrix, std::int64_t first, std::int64_t last) const;
    Matrix with_column(Matrix matrix, std::int64_t col) const;
    /// With the visible part at the resolution of the screen, down to single numbers.
    Matrix with_visible(Matrix matrix, const VisibleCells& visible) const;

    // What is counted in a matrix.

    /// Of all its numbers; null until they are counted.
    const TensorStatistics* count(const Matrix& matrix) const;
    /// Whether count() will come; not for means and changed maps in blocks.
    bool is_counted(const Matrix& matrix) const;
    /// Of what is held of it: of blocks only range, mean and deviation, and how many numbers are not finite.
    const TensorStatistics& statistics(const Matrix& matrix) const;
    /// The range of what is called `name`: that of `now`, or the last one while `now` is null; 0 to 0 if there was none yet.
    std::pair<float, float> latest_range(const std::string& name, const TensorStatistics* now) const;
    /// The sums of its rows over unmasked cells; empty until they are computed, and for a map in blocks.
    Matrix row_sums(const Matrix& matrix) const;
    /// The strongest cells of maps that are all of one stage, sequence and state: of small ones at once; of others as a facet finds them,
    /// and until then the last ones, which may lack a head; of those in blocks in the rows that they hold. Null if none were found yet.
    std::shared_ptr<const StrongCells> strongest(std::span<const MapOfHead> maps, std::size_t most) const;

    // Parameters, ids, and attention over all layers.

    /// Empty if there is no such parameter.
    Matrix parameter(const Subject& of, const ParameterPart& part) const;
    /// Of the shown state; null if there is no such parameter.
    const ParameterInfo* parameter_info(const std::string& name) const;
    /// The tokens of a sequence as one-hot rows, [T,V].
    Matrix one_hot(const Subject& of, const StageId& tokens, std::int64_t sequence) const;
    /// Has its sizes while it is computed.
    Found totals(const TotalsOf& wanted) const;
    /// B - A of two maps of equal size, which are not in blocks. Has its sizes while it is computed.
    Found totals_difference(const TotalsOf& of_b, const Matrix& b, const TotalsOf& of_a, const Matrix& a) const;

    // Single cells of the shown state.

    /// None until it is known.
    std::optional<CellNumber> number(const CellRef& cell) const;
    /// Whether it is masked in what is held for `beside`; false if it is not held.
    bool is_masked(const CellRef& cell, const StageId& beside) const;
    std::optional<float> gradient(const CellRef& cell) const;
    /// How its file packs a weight, see packed_words(); "" if it does not.
    std::string packing(const CellRef& cell) const;
    /// The score of a query and a key, dimension by dimension; none until its row is known.
    std::optional<QueryKeyProduct> query_key(const NumbersOf& scores, std::int64_t query, std::int64_t key) const;
    /// The request for the arithmetic behind a cell.
    facet::Explanation explanation(const CellRef& cell) const;

    // Facts about a stage, as far as they are known where the part of the model around `beside` is.

    /// Null if unknown.
    const StageRange* range(const Subject& of, const StageId& stage, const StageId& beside) const;
    std::span<const HeadScore> head_scores(const Subject& of, const StageId& weights, const StageId& beside) const;
    /// Why an edit of the shown state changes nothing, "" if it does or is not computed.
    std::string why_in_vain(const Edit& edit, const StageId& beside) const;
    /// See attn::reaches() and attn::first_cell().
    bool reaches(const Edit& edit, const CellRef& cell, const StageId& beside) const;
    CellRef first_cell(const Edit& edit) const;

private:
    /// The snapshot that has a stage, or will have it.
    const Snapshot& held(const Subject& of, const StageId& stage) const;
    MapsWanted form() const;
    /// The part of an outline that holds the stage; none for a whole trace.
    std::optional<facet::Inside> part_of(const Subject& of, const StageId& stage) const;
    std::optional<facet::Inside> part_of(const Matrix& matrix) const;

    Matrix slice(const Snapshot& held, const NumbersOf& wanted) const;
    Matrix slice(const RecordedStage<float>& stage, std::uint64_t serial, std::int64_t sequence, std::int64_t head) const;
    Matrix reduced(const ReducedMap& map, std::uint64_t serial, std::int64_t head, std::int64_t heads) const;
    Found mean(const Snapshot& held, const NumbersOf& wanted) const;
    Found changed(Matrix values) const;
    Found changed_here(Matrix values, const facet::MapChange& change) const;
    Found changed_elsewhere(Matrix values, const facet::MapChange& change) const;
    Found changed_blocks(Matrix map, const facet::MapChange& change, std::uint64_t minus_serial = 0) const;
    Found sliced(const Matrix& place, const StateRef& state, const facet::ChangedSlice& slice) const;
    Found difference_of_slices(const Matrix& b, const Matrix& a) const;
    Found difference_of_blocks(const Matrix& b, const Matrix& a) const;
    Found totals_elsewhere(const Matrix& place, const TotalsOf& of_b, const TotalsOf* of_a) const;

    Matrix with_numbers(Matrix matrix, std::uint64_t key, const ChangedSlice& numbers) const;
    Matrix with_slice(Matrix matrix, std::shared_ptr<const ChangedSlice> numbers) const;
    const HeatmapRegion* region(const Matrix& map, std::shared_ptr<const ReducedMap> numbers, bool is_whole = false) const;
    const HeatmapRegion* asked_region(const Matrix& map, const attn::MapRegion& cells) const;
    std::shared_ptr<const StrongCells> strongest_here(std::span<const MapOfHead> maps, std::size_t most) const;
    std::optional<facet::Statistics> counted_elsewhere(const Matrix& matrix) const;

    Inquiry& inquiry_;
    NumberStore& store_;
    Subject shown_;
    Sight sight_;
};

}  // namespace attn::app

#include "engine/io/curve_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

constexpr std::string_view kCurvesHeader = "step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy";
constexpr std::string_view kHeadsHeader =
    "step,stage,head,previous_token,first_token,same_token,induction,entropy,distance,rows,induction_rows";
constexpr std::size_t kCurveCells = 9, kHeadCells = 11;

/// Rows of cells, with the line number for messages.
class CsvReader {
public:
    CsvReader(std::string_view text, std::string_view source, std::string_view header) : text_(text), source_(source) {
        if (!next_line()) fail(FileFault::Truncated, "the table is empty");
        if (row_ != header) fail(FileFault::Schema, fmt::format("expected the header {}, found {}", header, escaped(row_)));
    }

    template <std::size_t N>
    bool next(std::array<std::string_view, N>& cells) {
        if (!next_line()) return false;
        std::string_view rest = row_;
        for (std::size_t i = 0; i < N; ++i) {
            const std::size_t comma = rest.find(',');
            if ((comma == std::string_view::npos) != (i + 1 == N)) fail(FileFault::Format, fmt::format("expected {} cells", N));
            cells[i] = rest.substr(0, comma);
            rest.remove_prefix(std::min(rest.size(), cells[i].size() + 1));
        }
        return true;
    }

    template <class Number>
    Number number(std::string_view cell) const {
        Number value{};
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error == std::errc::result_out_of_range) fail(FileFault::Range, fmt::format("\"{}\" is too large or too small", escaped(cell)));
        if (error != std::errc() || end != cell.data() + cell.size())
            fail(FileFault::Format, fmt::format("expected a number, found \"{}\"", escaped(cell)));
        return value;
    }
    std::int64_t count(std::string_view cell) const {
        const auto value = number<std::int64_t>(cell);
        if (value < 0) fail(FileFault::Range, fmt::format("{} is negative", value));
        return value;
    }

    [[noreturn]] void fail(FileFault fault, const std::string& problem) const {
        throw FileError(fault, source_, fmt::format("line {}", line_), problem);
    }

private:
    bool next_line() {
        ++line_;
        if (text_.empty()) return false;
        const std::size_t end = text_.find('\n');
        if (end == std::string_view::npos) fail(FileFault::Truncated, "the last line does not end");
        row_ = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return true;
    }

    std::string_view text_, source_, row_;
    std::int64_t line_ = 0;
};

}  // namespace

std::string curves_csv(std::span<const LossPoint> losses, std::span<const ValidationPoint> validations) {
    std::string out(kCurvesHeader);
    out += '\n';
    auto loss = losses.begin();
    auto validation = validations.begin();
    const auto put = std::back_inserter(out);
    while (loss != losses.end() || validation != validations.end()) {
        const bool trained = loss != losses.end() && (validation == validations.end() || loss->step <= validation->step);
        const std::int64_t step = trained ? loss->step : validation->step;
        fmt::format_to(put, "{}", step);
        if (trained) {
            fmt::format_to(put, ",{},{},{},{},{},{}", loss->loss, loss->accuracy, loss->gradient_norm, loss->learning_rate, loss->seconds,
                           loss->tokens);
            ++loss;
        } else {
            out += ",,,,,,";
        }
        if (validation != validations.end() && validation->step == step) {
            fmt::format_to(put, ",{},{}", validation->loss, validation->accuracy);
            ++validation;
        } else {
            out += ",,";
        }
        out += '\n';
    }
    return out;
}

Curves curves_from_csv(std::string_view text, std::string_view source) {
    CsvReader reader(text, source, kCurvesHeader);
    Curves curves;
    std::int64_t last = -1;
    for (std::array<std::string_view, kCurveCells> cells; reader.next(cells);) {
        const std::int64_t step = reader.count(cells[0]);
        if (step <= last) reader.fail(FileFault::Range, fmt::format("step {} after step {}", step, last));
        last = step;
        const auto empty = [&](std::size_t from, std::size_t to) {
            return std::all_of(cells.begin() + static_cast<std::ptrdiff_t>(from), cells.begin() + static_cast<std::ptrdiff_t>(to),
                               [](std::string_view cell) { return cell.empty(); });
        };
        constexpr std::size_t kTraining = 1, kValidation = 7;
        if (!empty(kTraining, kValidation))
            curves.losses.push_back({step, reader.number<double>(cells[1]), reader.number<double>(cells[2]),
                                     reader.number<double>(cells[3]), reader.number<double>(cells[4]), reader.number<double>(cells[5]),
                                     reader.count(cells[6])});
        if (!empty(kValidation, kCurveCells))
            curves.validations.push_back({step, reader.number<double>(cells[7]), reader.number<double>(cells[8])});
    }
    return curves;
}

std::string heads_csv(std::span<const HeadPoint> heads) {
    std::string out(kHeadsHeader);
    out += '\n';
    for (const HeadPoint& point : heads)
        for (const HeadScore& score : point.scores)
            fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{}\n", point.step, tensor_name(score.id), score.head,
                           score.previous_token, score.first_token, score.same_token, score.induction, score.entropy, score.distance,
                           score.rows, score.induction_rows);
    return out;
}

std::vector<HeadPoint> heads_from_csv(std::string_view text, std::string_view source) {
    CsvReader reader(text, source, kHeadsHeader);
    std::vector<HeadPoint> heads;
    for (std::array<std::string_view, kHeadCells> cells; reader.next(cells);) {
        const std::int64_t step = reader.count(cells[0]);
        if (!heads.empty() && step < heads.back().step)
            reader.fail(FileFault::Range, fmt::format("step {} after step {}", step, heads.back().step));
        const std::optional<StageId> stage = stage_from_tensor_name(cells[1]);
        if (!stage || to_self(stage->stage) != Stage::Weights)
            reader.fail(FileFault::Format, fmt::format("\"{}\" is not a stage of attention weights", escaped(cells[1])));
        if (heads.empty() || heads.back().step != step) heads.push_back({step, {}});
        HeadScore score;
        score.id = *stage;
        score.head = reader.count(cells[2]);
        std::size_t cell = 3;
        for (double HeadScore::*field : {&HeadScore::previous_token, &HeadScore::first_token, &HeadScore::same_token, &HeadScore::induction,
                                         &HeadScore::entropy, &HeadScore::distance})
            score.*field = reader.number<double>(cells[cell++]);
        score.rows = reader.count(cells[9]);
        score.induction_rows = reader.count(cells[10]);
        heads.back().scores.push_back(score);
    }
    return heads;
}

}  // namespace attn

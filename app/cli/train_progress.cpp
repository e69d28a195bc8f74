#include "app/cli/train_progress.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/cli/terminal_text.hpp"
#include "engine/io/json.hpp"

namespace attn::app {
namespace {

constexpr auto kBarInterval = std::chrono::milliseconds(100);

/// The terminal's width in columns; 80 if unknown.
std::size_t terminal_width() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// 75 -> "1:15"
std::string clock_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(std::lround(std::min(seconds, 1e9)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double per_second) {
    return per_second >= 1e4 ? fmt::format("{:.0f} k tokens/s", per_second / 1e3) : fmt::format("{:.0f} tokens/s", per_second);
}

double rate_between(const LossPoint& from, const LossPoint& to) {
    return to.seconds > from.seconds ? static_cast<double>(to.tokens - from.tokens) / (to.seconds - from.seconds) : 0;
}

/// Steps are counted from 1, as everywhere in the output.
Json rates_json(const std::vector<RateAt>& rates) {
    Json list = Json::list();
    for (const RateAt& at : rates) list.push_back({{"step", at.step + 1}, {"lr", at.rate}});
    return list;
}

}  // namespace

std::string rates_text(const std::vector<RateAt>& rates) {
    std::string text;
    for (const RateAt& at : rates) text += fmt::format("{}{:.2e} at step {}", text.empty() ? "" : ", ", at.rate, at.step + 1);
    return text;
}

std::string lengths_text(const std::vector<LengthAccuracy>& by_length) {
    std::string text;
    for (const LengthAccuracy& at : by_length)
        text += fmt::format("{}{}: {:.1f} %", text.empty() ? "" : ", ", at.length, 100 * at.accuracy);
    return text;
}

TrainProgress::TrainProgress(ProgressStyle style, const LossPoint& start, std::int64_t last_step, std::vector<RateAt> rates)
    : style_(style), start_(start), loss_(start), before_(start), last_step_(last_step), rates_(std::move(rates)) {}

double TrainProgress::tokens_per_second() const { return rate_between(start_, loss_); }

void TrainProgress::print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void TrainProgress::begin(const ValidationPoint& validation) {
    validation_ = validation;
    if (style_ == ProgressStyle::Json) print_json(nullptr, validation);
    if (style_ == ProgressStyle::Lines) print_line();
    if (style_ == ProgressStyle::Bar) draw_bar();
}

void TrainProgress::step(const LossPoint& loss, const std::optional<ValidationPoint>& validation) {
    before_ = loss_;
    loss_ = loss;
    if (validation) validation_ = validation;
    if (style_ == ProgressStyle::Json) print_json(&loss, validation);
    if (style_ == ProgressStyle::Lines && validation) print_line();
    if (style_ == ProgressStyle::Bar && std::chrono::steady_clock::now() - drawn_ >= kBarInterval) draw_bar();
}

void TrainProgress::event(const std::string& name, std::int64_t step, const std::string& message) {
    if (style_ != ProgressStyle::Json) return finish();
    const Json line{{"event", name}, {"step", step}, {"message", message}};
    print(json_line(line) + "\n");
}

void TrainProgress::finish() {
    if (style_ != ProgressStyle::Bar) return;
    draw_bar();
    print("\n");
}

void TrainProgress::print_json(const LossPoint* loss, const std::optional<ValidationPoint>& validation) {
    Json line{{"step", loss != nullptr ? loss->step : validation->step},
              {"loss", nullptr},
              {"val_loss", nullptr},
              {"val_accuracy", nullptr},
              {"val_accuracy_by_length", nullptr},
              {"lr", nullptr},
              {"grad_norm", nullptr},
              {"tokens_per_s", nullptr}};
    if (loss != nullptr) {
        line["loss"] = loss->loss;
        line["lr"] = loss->learning_rate;
        line["grad_norm"] = loss->gradient_norm;
        line["tokens_per_s"] = rate_between(before_, *loss);
    }
    if (validation) {
        line["val_loss"] = validation->loss;
        line["val_accuracy"] = validation->accuracy;
        for (const LengthAccuracy& at : validation->by_length) line["val_accuracy_by_length"][std::to_string(at.length)] = at.accuracy;
    }
    if (!rates_.empty()) line["rates"] = rates_json(std::exchange(rates_, {}));
    print(line.dump() + "\n");
}

void TrainProgress::print_line() const {
    std::string text = fmt::format("step {:>6}   held out: loss {:.4f}, accuracy {:5.1f} %", validation_->step, validation_->loss,
                                   100 * validation_->accuracy);
    if (loss_.step == validation_->step && loss_.step > start_.step)
        text += fmt::format("   batch: loss {:.4f}   rate {:.2e}   {}", loss_.loss, loss_.learning_rate, rate_text(tokens_per_second()));
    print(text + "\n");
}

std::vector<std::string> TrainProgress::bar_parts() const {
    std::vector<std::string> parts{last_step_ > 0 ? fmt::format("{}/{}", loss_.step, last_step_) : fmt::format("step {}", loss_.step)};
    const bool stepped = loss_.step > start_.step;
    if (stepped) parts.push_back(fmt::format("loss {:.4f}", loss_.loss));
    if (validation_) parts.push_back(fmt::format("held out {:.4f}, {:.1f} %", validation_->loss, 100 * validation_->accuracy));
    if (stepped && last_step_ > loss_.step) {
        const double step_seconds = (loss_.seconds - start_.seconds) / static_cast<double>(loss_.step - start_.step);
        parts.push_back(clock_text(step_seconds * static_cast<double>(last_step_ - loss_.step)) + " left");
    }
    if (stepped) parts.push_back(rate_text(tokens_per_second()));
    return parts;
}

void TrainProgress::draw_bar() {
    drawn_ = std::chrono::steady_clock::now();
    constexpr std::size_t kCells = 20;
    // Leave the last column free, since some terminals wrap after writing to it.
    const std::size_t width = terminal_width() - 1;
    std::string line;
    if (last_step_ > 0 && width > 2 * kCells) {
        const double done = std::min(1.0, static_cast<double>(loss_.step) / static_cast<double>(last_step_));
        const auto filled = static_cast<std::size_t>(done * static_cast<double>(kCells));
        line = "[" + std::string(filled, '#') + std::string(kCells - filled, '.') + "]";
    }
    for (const std::string& part : bar_parts()) {
        if (line.size() + 2 + part.size() > width) break;
        line += (line.empty() ? "" : "  ") + part;
    }
    // Erase to the end of the line, in case the previous line was longer.
    print(fmt::format("\r{}\x1b[K", line));
}

}  // namespace attn::app

#include "engine/recording/known_forms.hpp"

#include <algorithm>
#include <cmath>

#include "engine/attention/position.hpp"
#include "engine/recording/follower.hpp"

namespace attn::recording {
namespace {

/// The forms that a norm may have; where the recording does not say what is added to the variance, with what libraries add by default.
std::vector<NormForm> possible_norms(const RecordedStage& norm) {
    std::vector<double> all{1e-5, 1e-6, 1e-8, 0x1p-23, 1e-12, 1e-3};
    if (!std::isnan(norm.eps)) all = {norm.eps};
    std::vector<NormForm> forms;
    for (const double eps : all)
        for (const bool has_mean : {true, false}) forms.push_back({has_mean, eps});
    return forms;
}

/// The distance of recorded numbers from the expected ones; nothing if rounding does not explain it.
std::optional<double> distance_between(const Numbers& recorded, const Numbers& expected) {
    if (!follows(recorded, expected)) return {};
    double far = 0;
    for (std::size_t i = 0; i < recorded.values.size(); ++i) far = std::max(far, std::abs(recorded.values[i] - expected.values[i]));
    return far;
}

}  // namespace

bool KnownNorms::keep(const RecordedStage& norm, const Numbers& before, const Numbers& result, NormRule rule) {
    for (const std::vector<double>* each : {&rule.gain, &rule.shift})
        if (!each->empty() && std::ssize(*each) != before.shape.back()) throw NotComputed{"its parameters have another size"};
    if (!forms_) forms_ = possible_norms(norm);
    std::erase_if(*forms_, [&](NormForm& form) {
        rule.has_mean = form.has_mean;
        rule.eps = form.eps;
        const std::optional<double> far = distance_between(result, normed(before, rule));
        form.far = std::max(form.far, far.value_or(0));
        return !far || (!std::isnan(norm.eps) && norm.eps != form.eps);
    });
    return !forms_->empty();
}

const NormForm* KnownNorms::best() const { return forms_ ? &*std::ranges::min_element(*forms_, {}, &NormForm::far) : nullptr; }

bool KnownCurves::keep(const Numbers& before, const Numbers* gated, const Numbers& result) {
    if (gated != nullptr) expect_to_fit(before, *gated);
    std::erase_if(forms_, [&](const Form& form) {
        const Numbers after = bent(before, form.curve);
        return !follows(result, gated == nullptr ? after : times(after, *gated));
    });
    return !forms_.empty();
}

bool is_sines_and_cosines(const Numbers& rows) {
    const std::int64_t width = rows.shape.back(), positions = rows.count() / width;
    std::vector<double> expected(rows.values.size());
    sinusoidal_positions<double>(0, positions, width, expected.data());
    constexpr double kRoundings = 8;  // of the code that made the table
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(rows.values[i] - expected[i]) <= kRoundings * rows.eps)) return false;
    return true;
}

}  // namespace attn::recording

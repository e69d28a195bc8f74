#include "app/session/facets/ask.hpp"

#include <algorithm>
#include <new>

#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

/// Leaves make(). No error, so that nothing but asked_by() catches it.
struct CannotGoOn {};

/// Whether an outline, perhaps only begun, suffices to compute the part around a stage.
bool reaches(const Trace<float>& outline, const StageId& id) {
    if (outline.whole()) return true;
    if (outline.plan->find(id) == nullptr) return false;
    const PlanPart part = outline.plan->part_around(id);
    return !part.stream || outline.find(*part.stream) != nullptr;
}

std::shared_ptr<const BegunPass> pass_of(const std::shared_ptr<const Fact>& begun) {
    return begun == nullptr ? nullptr : Results::answer<facet::Beginning>(begun.get()).value;
}

}  // namespace

std::shared_ptr<const void> Ask::need(Request request) {
    std::shared_ptr<const Fact> fact = results_.find(request);
    std::vector<Request>& needs = asked_.needs;
    if (std::find(needs.begin(), needs.end(), request) == needs.end()) needs.push_back(std::move(request));
    if (fact != nullptr && fact->value != nullptr) return fact->value;
    if (fact != nullptr && fact->settled()) asked_.failed = std::move(fact);
    throw CannotGoOn();
}

std::shared_ptr<const Snapshot> Ask::pass_to(const StageId& stage) {
    if (!asked_.looks_at) asked_.looks_at = stage;
    if (!results_.find(state_, facet::Trace{}))
        if (const auto begun = results_.begun(state_)) {
            const std::shared_ptr<const BegunPass> pass = pass_of(begun);
            if (reaches(*pass->snapshot.trace, stage)) {
                need(begun->request);
                return {pass, &pass->snapshot};
            }
        }
    return (*this)(facet::Trace{});
}

std::shared_ptr<const BegunPass> Ask::begun() const { return pass_of(results_.begun(state_)); }

Asked asked_by(const Request& request, const Results& results) {
    Asked asked;
    Ask ask(request.state, results, asked);
    try {
        if (request.facet.info().runs_model && request.state != nullptr && recorded_in(*request.state) != nullptr)
            throw Error(std::string(kRecordingDoesNotRun));
        asked.job = request.facet.make(ask);
    } catch (const CannotGoOn&) {
        return asked;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (...) {
        asked.error = std::current_exception();
    }
    if (request.state == nullptr) return asked;
    if (const auto trace = results.find(request.state, facet::Trace{})) asked.mib_of_all_stages = trace->whole_mib;
    else if (const auto begun = ask.begun()) asked.mib_of_all_stages = begun->snapshot.whole_mib;
    return asked;
}

}  // namespace attn::app

// A thread that takes the signals synchronously, so that no handler runs anywhere.
#include "app/stop_signal.h"

#include <unistd.h>

namespace deltaserve {

namespace {
constexpr int kSignalExitBase = 128;  // the shell's exit code of a process that a signal ended
}

StopSignal::StopSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  listener_ = std::thread([this] { listen(); });
}

StopSignal::~StopSignal() {
  closing_ = true;
  pthread_kill(listener_.native_handle(), SIGTERM);
  listener_.join();
}

void StopSignal::listen() {
  int signal = 0;
  bool told = false;
  while (sigwait(&signals_, &signal) == 0 && !closing_) {
    // A second signal means that draining takes too long for whoever sends it.
    if (!armed_ || told) _exit(kSignalExitBase + signal);
    told = true;
    received_.set_value();
  }
}

}  // namespace deltaserve

import Campanile
import Dispatch
import Foundation

struct JobArrived: MessageCenter.Message { var number: Int }

@main struct Daemon {
  static func main() async {
    let center = MessageCenter()
    let jobs = center.messages(of: JobArrived.self).values()

    signal(SIGTERM, SIG_IGN)  // does not end the process; the source below hears it
    let signals = DispatchSource.makeSignalSource(signal: SIGTERM)
    signals.setEventHandler { @Sendable in center.finish() }
    signals.resume()

    for number in 1...3 { center.post(JobArrived(number: number)) }
    for await job in jobs {
      try? await Task.sleep(for: .milliseconds(800))
      print("did job \(job.number)")
    }
    print("nothing is left to do")
  }
}

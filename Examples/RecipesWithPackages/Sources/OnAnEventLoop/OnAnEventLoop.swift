import Campanile
import NIOCore
import NIOPosix

final class EventLoopTarget: DeliveryTarget {
  let mailbox = Mailbox()
  let loop: any EventLoop
  var isCurrent: Bool { loop.inEventLoop }

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: DeliveryJob) { loop.execute { job.run() } }
}

struct LineRead: MessageCenter.Message { var text: String }

@main struct OnAnEventLoop {
  static func main() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let target = EventLoopTarget(loop)
    let center = MessageCenter()
    let token = center.observe(LineRead.self, on: .target(target)) { line in
      print("\(line.text), on the event loop: \(loop.inEventLoop)")
    }
    try await center.postAndWait(LineRead(text: "hello"))
    withExtendedLifetime(token) {}
  }
}

// The compiler looks at what is sent to another isolation once the types are right: these need a file.
import Campanile
import CampanileFoundation
import CampanileKVO
import Foundation

final class Member { var count = 0 }

func read(_ ticks: Broadcaster<Int>) async {
  var iterator = ticks.values().makeAsyncIterator()
  // expect-error: risks causing data races
  let task = Task.detached { await iterator.next(isolation: nil) }
  print(await iterator.next(isolation: nil) as Any, await task.value as Any)
}

func share(_ kvo: KVOController<Member>) {
  // expect-error: risks causing data races
  Task.detached { kvo.unobserveAll() }
}

func share(_ members: Multicast<Member>) {
  // expect-error: passing closure as a 'sending' parameter risks causing data races
  Task.detached { members.call { $0.count += 1 } }
  members.call { $0.count += 1 }
}

func enqueue(_ notification: Notification, _ queue: PostingQueue, _ center: NotificationCenter) {
  // expect-error: sending 'notification' risks causing data races
  queue.enqueue(notification, to: center, .asap)
}

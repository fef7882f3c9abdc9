// expect-error: sending 'notification' risks causing data races
import CampanileFoundation
import Foundation

func enqueue(_ notification: Notification, _ queue: PostingQueue, _ center: NotificationCenter) {
  queue.enqueue(notification, to: center, .asap)
}

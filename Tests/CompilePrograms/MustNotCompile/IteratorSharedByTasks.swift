// expect-error: risks causing data races
import Campanile

func read(_ ticks: Broadcaster<Int>) async {
  var iterator = ticks.values().makeAsyncIterator()
  let task = Task.detached { await iterator.next(isolation: nil) }
  print(await iterator.next(isolation: nil) as Any, await task.value as Any)
}

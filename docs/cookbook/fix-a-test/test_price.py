import unittest

from price import total


class TestTotal(unittest.TestCase):
    def test_discount(self):
        self.assertEqual(total([30, 50], discount=10), 72)


if __name__ == "__main__":
    unittest.main()
